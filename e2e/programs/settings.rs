//! Settings, health and completions: real processes in an empty environment.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use process::{Serving, hello, run, text};
use serde_json::Value;
use tempfile::TempDir;

fn folder(file: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("convoke.toml"), file).unwrap();
    folder
}

const PROVIDER: &str = "[[auth.providers]]\nissuer = 'https://id.example.com/'\naudiences = ['api']\n";

#[test]
fn unchanged_example_keeps_the_defaults() {
    let folder = folder("");
    let example = text(&run(folder.path(), &["config", "example"]).stdout);
    assert!(example.contains("#listen = \"127.0.0.1:3210\"\n"), "{example}");
    std::fs::write(folder.path().join("convoke.toml"), &example).unwrap();
    let changed = text(&run(folder.path(), &["config", "show", "--changed"]).stdout);
    assert_eq!(changed.lines().count(), 1, "only the heading: {changed}");

    let provider = example.replace("#     [[auth.providers]]", "[[auth.providers]]");
    let provider = provider.replace("#     issuer =", "issuer =").replace("#     audiences =", "audiences =");
    std::fs::write(folder.path().join("convoke.toml"), provider).unwrap();
    let checked = run(folder.path(), &["config", "check"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}

#[test]
fn effective_settings_show_their_source_and_hide_secrets() {
    let folder = folder(&format!("log_lines = 'always'\n{PROVIDER}[limits]\nreaders = 3\n"));
    std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let mut command = hello(folder.path());
    command.env("CONVOKE_DATA", "elsewhere").env("CONVOKE_SECRET_MODEL_KEY", "geheim");
    let output = command.args(["config", "show", "--json", "--listen", "127.0.0.1:9"]).output().unwrap();
    assert!(!text(&output.stdout).contains("geheim"));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let find = |name: &str| {
        let settings = shown["settings"].as_array().unwrap();
        let row = settings.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {shown}"));
        (row["value"].clone(), row["from"].as_str().unwrap().to_owned(), row["place"].clone())
    };
    for (name, value, from, place) in [
        ("listen", Value::from("127.0.0.1:9"), "flag", Value::from("--listen")),
        ("data", "elsewhere".into(), "environment", "CONVOKE_DATA".into()),
        ("log_lines", "always".into(), "file", "convoke.toml".into()),
        ("limits.readers", 3.into(), "file", "convoke.toml".into()),
        ("limits.mutation_timeout", "1s".into(), "default", Value::Null),
        ("auth.providers[0].issuer", "https://id.example.com/".into(), "file", "convoke.toml".into()),
    ] {
        assert_eq!(find(name), (value, from.to_owned(), place), "{name}");
    }
    assert_eq!(shown["secrets"][0]["name"], "MODEL_KEY");
    let table = text(&run(folder.path(), &["config", "show"]).stdout);
    assert!(table.lines().any(|line| line.starts_with("limits.readers ") && line.ends_with("convoke.toml")), "{table}");
}

#[test]
fn config_check_finds_everything_that_stops_a_start() {
    for (file, parts) in [
        (
            "lisen = '127.0.0.1:1'\n[limits]\nreeders = 3",
            &["did you mean `listen`", "did you mean `limits.readers`"][..],
        ),
        ("[auth]\nprovider = []", &["did you mean `auth.providers`"]),
        ("[tls]\ncert = 'a.pem'", &["tls.cert needs tls.key"]),
        (
            "cors_origins = ['app.example.com/']\n[rates]\nread = 'x'",
            &["no identity provider", "[rates]", "is not an origin"],
        ),
        ("listen = 7", &["listen"]),
        ("log = 'verbose'", &["log: \"verbose\" is not a level; the levels are off, error, warn"]),
        ("[copy]\nto = '/mnt/x'", &["copy.to: /mnt/x: write dir:/path or s3://bucket/prefix"]),
        ("[files]\nurl = 'ftp://x'", &["files.url must be s3://bucket or s3://bucket/prefix, not \"ftp://x\""]),
        ("[site]\ndir = 'nowhere'", &["nowhere"]),
        ("data = ''", &["data is empty; write the path of the data folder"]),
        ("[copy]\nacknowledge = 'copied'", &["copy.acknowledge = \"copied\" needs copy.to"]),
        ("listen = '127.0.0.1:99'\nops_listen = '127.0.0.1:99'", &["ops_listen must differ from listen"]),
        ("store = 'oracle://x'", &["store: must be the address of a database"]),
        (
            "[limits]\ndisk_free_percent_min = 500\nconnections_max = 0\nmutation_timeout = '0s'\nreaders = 100000",
            &[
                "limits.disk_free_percent_min: must be at most 99 (got 500)",
                "limits.connections_max: must be at least 1 (got 0)",
                "limits.mutation_timeout: must be longer than 0s",
                "limits.readers: must be at most 1024 (got 100000)",
            ],
        ),
        ("[[auth.providers]]\nissuer = 'http://id.example.com'\naudiences = ['a']", &["use https"]),
    ] {
        let folder = folder(file);
        let output = run(folder.path(), &["config", "check", "convoke.toml"]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        for part in parts {
            assert!(text(&output.stderr).contains(part), "{file}: {}", text(&output.stderr));
        }
    }
    let whole = folder(PROVIDER);
    assert_eq!(text(&run(whole.path(), &["config", "check"]).stdout), "convoke.toml: a server would start with it\n");
}

#[test]
fn doctor_reports_a_route_without_its_secret_and_names_the_command() {
    let folder = folder("");
    let look = || {
        let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_shop"));
        doctor.current_dir(folder.path()).env_clear().args(["doctor", "--env", "development"]);
        let output = doctor.output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = look();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("the route POST /hooks/payments rejects every request: the secret PAYMENTS_SECRET"),
        "{said}"
    );
    assert!(said.contains("secret set PAYMENTS_SECRET`") && said.contains("secret set GITHUB_SECRET`"), "{said}");
    let secrets = folder.path().join("data/secrets");
    std::fs::create_dir_all(&secrets).unwrap();
    for name in ["PAYMENTS_SECRET", "STRIPE_SECRET", "GITHUB_SECRET", "PARTNER_SECRET"] {
        let file = secrets.join(name);
        std::fs::write(&file, "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let (_, said) = look();
    assert!(!said.contains("rejects every request"), "{said}");
}

#[test]
fn health_uses_the_configured_address() {
    let folder = folder("");
    let serving = Serving::start(hello(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    let address = serving.url.strip_prefix("http://").unwrap();
    std::fs::write(folder.path().join("convoke.toml"), format!("listen = '{address}'")).unwrap();
    let healthy = run(folder.path(), &["health"]);
    assert_eq!((healthy.status.code(), text(&healthy.stdout)), (Some(0), "ready\n".to_owned()));
    let anywhere = address.replace("127.0.0.1", "0.0.0.0");
    let by_variable = hello(folder.path()).arg("health").env("CONVOKE_LISTEN", anywhere).output().unwrap();
    assert!(by_variable.status.success(), "{}", text(&by_variable.stderr));
    let url = serving.url.clone();
    assert_eq!(serving.signal("TERM"), 0);
    let gone = run(folder.path(), &["health", "--url", &url]);
    assert_eq!((gone.status.code(), text(&gone.stdout)), (Some(1), String::new()));
}

#[test]
fn shell_completes_commands_flags_and_functions() {
    let folder = folder("");
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&run(folder.path(), &["completions", shell]).stdout);
        assert!(script.contains("CONVOKE_COMPLETE") && script.contains("hello"), "{shell}: {script}");
    }
    // The request of fish's completion script.
    let ask = |words: &[&str]| {
        let mut command = hello(folder.path());
        text(&command.env("CONVOKE_COMPLETE", "fish").arg("--").args(words).output().unwrap().stdout)
    };
    assert!(ask(&["hello", "run", "greet"]).contains("greetings/sayHello\tReturns a greeting."));
    assert!(ask(&["hello", "conf"]).contains("config"));
    assert!(ask(&["hello", "serve", "--auth-i"]).contains("--auth-issuer"));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder("");
    let written = run(folder.path(), &["man", "man1"]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    for page in ["hello.1", "hello-serve.1", "hello-config-check.1"] {
        let page = std::fs::read_to_string(folder.path().join("man1").join(page)).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH SYNOPSIS"), "{page}");
    }
}
