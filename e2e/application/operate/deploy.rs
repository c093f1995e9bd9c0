//! The systemd unit, the container and the compose file: their files and flags exist, and their assumptions hold.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use convoke::embed::Limits;

/// Returns the values of a key of the unit.
fn unit(key: &str) -> Vec<String> {
    let text = crate::read("deploy/convoke.service");
    let lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.map(str::to_owned).collect()
}

#[test]
fn version_lists_engines_and_unknown_command_suggests_the_nearest() {
    let run = |word: &str| Command::new(env!("CARGO_BIN_EXE_convoke")).arg(word).output().unwrap();
    let version = String::from_utf8(run("--version").stdout).unwrap();
    assert!(version.starts_with(&format!("convoke {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains("sqlite"), "{version}");
    let unknown = run("fonctions");
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text.contains("'functions'") && !text.contains("'doctor'"), "{text}");
}

#[test]
fn unit_uses_existing_flags() {
    let start = unit("ExecStart");
    let words: Vec<&str> = start[0].split(' ').collect();
    assert_eq!(words[..2], ["/usr/local/bin/convoke", "serve"]);
    let help = Command::new(env!("CARGO_BIN_EXE_convoke")).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(&format!("{flag} <")), "{flag}");
    }
}

#[test]
fn unit_timeout_exceeds_the_drain_and_file_limit_exceeds_connections() {
    let limits = Limits::default();
    let seconds = unit("TimeoutStopSec")[0].trim_end_matches('s').parse().unwrap();
    // Calls can use the complete drain time, and then scheduled work can.
    assert!(Duration::from_secs(seconds) > 2 * limits.drain_timeout);
    let files: usize = unit("LimitNOFILE")[0].parse().unwrap();
    assert!(files > limits.connections_max + 1_000);
    // A mutation that does not return ends the process before the watchdog does.
    let watchdog = unit("WatchdogSec")[0].trim_end_matches('s').parse().unwrap();
    assert!(Duration::from_secs(watchdog) > 10 * limits.mutation_timeout);
    assert_eq!((unit("Type"), unit("Restart")), (vec!["notify".to_owned()], vec!["on-failure".to_owned()]));
}

/// Returns the folders and files of the container's build.
fn context() -> Vec<String> {
    let ignored = crate::read("deploy/Dockerfile.dockerignore");
    ignored.lines().filter_map(|line| line.strip_prefix('!')).map(str::to_owned).collect()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

#[test]
fn container_context_is_a_complete_workspace() {
    let folder = tempfile::tempdir().unwrap();
    for name in context() {
        copy(&crate::root().join(&name), &folder.path().join(&name));
    }
    // The first step of `cargo build --locked`: every member exists, and Cargo.lock needs no change.
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--workspace", "--locked", "--offline"]).current_dir(&folder);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn container_runs_existing_commands_without_privileges() {
    let text = crate::read("deploy/Dockerfile");
    for part in [
        "cargo build --release --locked --package functions --bin convoke",
        "USER 10001",
        "VOLUME /data",
        "STOPSIGNAL SIGTERM",
        "CMD [\"convoke\", \"health\"]",
        "CMD [\"serve\"]",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let rust = crate::read("Cargo.toml");
    let version = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(text.contains(&format!("FROM rust:{version}-")), "the container builds with Rust {version}");
    for variable in ["CONVOKE_DATA", "CONVOKE_LISTEN"] {
        assert!(is_read(variable), "{variable}");
    }
}

/// Returns true if the server reads an environment variable.
fn is_read(variable: &str) -> bool {
    let help = Command::new(env!("CARGO_BIN_EXE_convoke")).args(["serve", "--help"]).output().unwrap();
    String::from_utf8(help.stdout).unwrap().contains(&format!("[env: {variable}="))
}

#[test]
fn compose_nodes_use_existing_settings_and_outlive_a_drain() {
    for (compose, balancer) in [("compose.yaml", "haproxy.cfg"), ("compose.ha.yaml", "haproxy.ha.cfg")] {
        let text = crate::read(&format!("deploy/{compose}"));
        let variables = text.lines().filter_map(|line| line.trim().split_once(": ")).map(|(name, _)| name);
        let variables: Vec<&str> = variables.filter(|name| name.starts_with("CONVOKE_")).collect();
        let (secrets, settings): (Vec<&str>, Vec<&str>) =
            variables.into_iter().partition(|name| name.starts_with("CONVOKE_SECRET_"));
        assert!(secrets.is_empty(), "{compose}: a secret is no variable there: {secrets:?}");
        assert!(
            text.contains("    - CONVOKE_SECRET_STORE_KEY\n") && text.contains("    - CONVOKE_SECRET_STORE_PASSWORD\n")
        );
        assert_eq!(settings, ["CONVOKE_STORE", "CONVOKE_TRUSTED_PROXY"], "{compose}");
        assert!(settings.iter().all(|name| is_read(name)), "{settings:?}");
        let grace = text.lines().find_map(|line| line.trim().strip_prefix("stop_grace_period: ")).unwrap();
        let grace = Duration::from_secs(grace.trim_end_matches('s').parse().unwrap());
        assert!(grace > 2 * Limits::default().drain_timeout, "{compose}");
        // The health checks detect a lost node in time, and an action may send no data while it runs.
        let text = crate::read(&format!("deploy/{balancer}"));
        let silence = text.lines().find_map(|line| line.trim().strip_prefix("timeout server ")).unwrap();
        let silence = Duration::from_secs(60 * silence.trim_end_matches('m').parse::<u64>().unwrap());
        assert!(silence > Limits::default().action_timeout, "{balancer}");
        assert!(silence > 2 * Limits::default().live_ping_interval, "{balancer}");
    }
}
