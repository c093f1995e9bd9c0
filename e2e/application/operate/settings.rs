//! `deploy/convoke.toml` and the application's sections in it.

use std::fmt::Debug;
use std::os::unix::fs::PermissionsExt as _;

use convoke_server::config::Config;
use convoke_server::settings::describe::describe;
use convoke_server::settings::{Section, example};
use functions::insights::settings::InsightProvider;
use functions::matching::settings::Matching;
use functions::meetings::provider::LiveKit;
use functions::meetings::webrtc::settings::{Rooms, Stun, Turn};
use schema::limits::{Quotas, Retention};

const FILE: &str = "deploy/convoke.toml";
/// Environment variable that renews the file.
const BLESS: &str = "CONVOKE_BLESS";

#[test]
fn the_example_has_every_setting_of_this_program() {
    let now = example::write(&describe());
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(crate::root().join(FILE), &now).unwrap();
    }
    assert_eq!(crate::read(FILE), now, "the settings differ; if the change is intended, run `.ci/renew`");
    let printed =
        std::process::Command::new(env!("CARGO_BIN_EXE_convoke")).args(["config", "example"]).output().unwrap();
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), now);
}

/// Asserts that a section of the example with all settings uncommented equals an absent section.
fn holds_its_defaults<S: Section + Debug>(config: &Config) {
    let table = config.sections.get(S::NAME).unwrap_or_else(|| panic!("[{}] is in the example", S::NAME));
    let read: S = table.clone().try_into().unwrap_or_else(|error| panic!("[{}]: {error}", S::NAME));
    assert_eq!(format!("{read:?}"), format!("{:?}", S::default()), "[{}]", S::NAME);
}

#[test]
fn uncommented_example_has_the_defaults() {
    let file = crate::read(FILE);
    for text in [file.clone(), example::uncommented(&file)] {
        let config = Config::of_text(&text).unwrap_or_else(|error| panic!("{error}"));
        holds_its_defaults::<Quotas>(&config);
        holds_its_defaults::<Retention>(&config);
        holds_its_defaults::<LiveKit>(&config);
        holds_its_defaults::<InsightProvider>(&config);
        holds_its_defaults::<Rooms>(&config);
        holds_its_defaults::<Stun>(&config);
        holds_its_defaults::<Turn>(&config);
        holds_its_defaults::<Matching>(&config);
    }
    let settings = example::uncommented(&file).lines().filter(|line| line.contains(" = ")).count();
    assert!(settings > 80, "{settings} settings");
}

#[test]
fn check_accepts_the_example_with_all_settings_uncommented() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("convoke.toml");
    let bare = example::uncommented(&crate::read(FILE));
    let provider = "[[auth.providers]]\nissuer = 'https://id.example.com/'\naudiences = ['api']\n";
    std::fs::write(&file, format!("{bare}{provider}")).unwrap();
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_convoke"));
    let output = check.env_clear().args(["config", "check"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn examples_of_disabled_settings_are_valid() {
    let config = Config::of_text(&example::with_examples(&crate::read(FILE))).unwrap();
    let livekit: LiveKit = config.sections[LiveKit::NAME].clone().try_into().unwrap();
    assert!(livekit.server().is_some());
    let insights: InsightProvider = config.sections[InsightProvider::NAME].clone().try_into().unwrap();
    assert!(insights.model().is_some());
}

#[test]
fn doctor_reports_the_secrets_that_settings_need() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[livekit]\nurl = 'wss://media.example.org'\napi_key = 'APIa1b2c3'\n\
                    [turn]\nurls = ['turn:turn.example.org:3478']\n";
    std::fs::write(folder.path().join("convoke.toml"), settings).unwrap();
    let doctor = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_convoke"));
        command.current_dir(folder.path()).env_clear().args(["doctor", "--env", "development"]);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (is_ok, said) = doctor();
    assert!(!is_ok && said.contains("[livekit]: the secret LIVEKIT_API_SECRET is not set"), "{said}");
    assert!(said.contains("[turn]: the secret TURN_SECRET is not set"), "{said}");
    let secrets = folder.path().join("data/secrets");
    std::fs::create_dir_all(&secrets).unwrap();
    for name in ["LIVEKIT_API_SECRET", "TURN_SECRET"] {
        let file = secrets.join(name);
        std::fs::write(&file, "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let (_, said) = doctor();
    assert!(!said.contains("[livekit]") && !said.contains("[turn]"), "{said}");
}
