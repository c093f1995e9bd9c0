//! Runs the commands of the operator's guide against the real binary, in order and in one shell.
//!
//! The machine of the guide is a temporary folder: `/etc`, `/var` and `/usr` are folders in it. The test provides the
//! identity provider. Small programs at the front of the PATH replace programs that need root or systemd: this
//! `systemctl` starts the server with the `ExecStart` line of `deploy/convoke.service`. Blocks that begin with
//! ```` ```console ```` are not run.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::issuer::Issuer;

/// The operator's pages of `docs/how-to/`, in the order in which their commands run.
const GUIDE: [&str; 16] = [
    "install",
    "settings",
    "secrets",
    "deploy-keys",
    "console",
    "proxy",
    "monitor",
    "logs",
    "backup",
    "export",
    "upgrade",
    "containers",
    "capacity",
    "troubleshoot",
    "security",
    "alerts",
];
/// Number of blocks that are not run: a link for a browser, ids that do not exist, containers, copies in a bucket, and a
/// second machine. The exact number makes sure that a new one is deliberate.
const SHOWN_ONLY: usize = 7;

/// Returns the text of all pages.
fn guide() -> String {
    GUIDE.map(|page| crate::read(&format!("docs/how-to/{page}.md"))).concat()
}

/// Returns the blocks of code: the word after the backticks, and the text.
fn blocks() -> Vec<(String, String)> {
    let guide = guide();
    let parts = guide.split("```").skip(1).step_by(2);
    parts.map(|part| part.split_once('\n').unwrap()).map(|(word, text)| (word.to_owned(), text.to_owned())).collect()
}

struct Machine {
    root: TempDir,
    issuer: Issuer,
    /// Texts of the guide, and their replacements in this test.
    places: Vec<(&'static str, String)>,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let issuer = Issuer::start();
        let path = |name: &str| root.path().join(name);
        for folder in [
            "bin",
            "etc/systemd/system",
            "var/lib",
            "var/backups",
            "usr/local/bin",
            "usr/lib/sysusers.d",
            "target/release",
        ] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        symlink(crate::root().join("deploy"), path("deploy")).unwrap();
        symlink(env!("CARGO_BIN_EXE_convoke"), path("target/release/convoke")).unwrap();
        let [calls, ops] = free_ports();
        let at = |port: u16| format!("127.0.0.1:{port}");
        let here = |name: &str| format!("{}/{name}", root.path().display());
        let places = vec![
            ("https://id.example.com/", issuer.url.clone()),
            ("https://api.example.com", format!("http://{}", at(calls))),
            ("127.0.0.1:3210", at(calls)),
            ("127.0.0.1:3211", at(ops)),
            ("/usr/", here("usr/")),
            ("/etc/", here("etc/")),
            ("/var/", here("var/")),
        ];
        let machine = Self { root, issuer, places };
        machine.programs();
        machine
    }

    fn here(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
    }

    /// Writes the replacements of programs that need root or systemd.
    fn programs(&self) {
        let unit = crate::read("deploy/convoke.service");
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let root = self.root.path().display();
        let systemctl = format!(
            r#"
log={root}/journal; pid={root}/pid
stop() {{ [ ! -f $pid ] || {{ kill $(cat $pid); while kill -0 $(cat $pid) 2>/dev/null; do sleep 0.05; done; rm $pid; }}; }}
start() {{
    credentials={root}/credentials
    rm -rf $credentials
    if grep -qs '^LoadCredential=CONVOKE_SECRET:' {root}/etc/systemd/system/convoke.service.d/*.conf; then
        mkdir $credentials
        for file in {root}/etc/convoke/secrets/*; do cp $file $credentials/CONVOKE_SECRET_${{file##*/}}; done
    fi
    mkdir -p -m 0700 {root}/var/lib/convoke
    cd {root}/var/lib/convoke
    env -i CREDENTIALS_DIRECTORY=$credentials {start} >>$log 2>&1 &
    echo $! >$pid
    for _ in $(seq 1200); do
        if convoke health --config {root}/etc/convoke/convoke.toml >/dev/null 2>&1; then return; fi
        kill -0 $(cat $pid) 2>/dev/null || {{ cat $log >&2; exit 1; }}
        sleep 0.1
    done
    cat $log >&2; exit 1
}}
case "$1" in
start|enable) start;;
stop) stop;;
restart) stop; start;;
daemon-reload) ;;
status) kill -0 $(cat $pid);;
*) echo "systemctl $1 is not known here" >&2; exit 1;;
esac
"#,
            start = self.here(start),
        );
        self.program("systemctl", &systemctl);
        self.program("journalctl", &format!("cat {root}/journal"));
        self.program("systemd-sysusers", "");
        self.program("runuser", "[ \"$1 $2 $3\" = '-u convoke --' ] || exit 1; shift 3; exec \"$@\"");
        // Only root can change the owner of a file.
        self.program(
            "install",
            "words=; while [ $# -gt 0 ]; do case \"$1\" in -o|-g) shift 2;; *) words=\"$words $1\"; shift;; esac; done; \
             exec /usr/bin/install $words",
        );
    }

    fn program(&self, name: &str, script: &str) {
        let file = self.root.path().join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\nset -e\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, script: &str) -> (bool, String) {
        let root = self.root.path();
        fs::write(root.join("guide.sh"), script).unwrap();
        let said = fs::File::create(root.join("said")).unwrap();
        let path = format!("{0}/bin:{0}/usr/local/bin:{1}", root.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-eu", "guide.sh"]).current_dir(root).env_clear().env("PATH", path).env("HOME", root);
        shell.env("TOKEN", self.issuer.token("ada", &self.here("https://api.example.com")));
        // Into a file, because the server keeps running and would keep a pipe open.
        shell.stdout(said.try_clone().unwrap()).stderr(said);
        let status = shell.status().unwrap();
        (status.success(), fs::read_to_string(root.join("said")).unwrap())
    }
}

/// Stops the servers at the end of the test.
impl Drop for Machine {
    fn drop(&mut self) {
        let _ = Command::new(self.root.path().join("bin/systemctl")).arg("stop").status();
    }
}

/// Returns ports below those that the system gives to other processes, because the server is stopped for a while.
fn free_ports() -> [u16; 2] {
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    let mut free = (first..).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    [(); 2].map(|()| free.next().unwrap())
}

#[test]
fn every_command_of_the_guide_runs() {
    let machine = Machine::new();
    let blocks = blocks();
    let commands: Vec<&String> = blocks.iter().filter(|(word, _)| word == "sh").map(|(_, text)| text).collect();
    let mut script = String::new();
    for (number, block) in commands.iter().enumerate() {
        script.push_str(&format!("echo '== block {number}'\n{}\n", machine.here(block)));
    }
    script.push_str("echo '== the end'\n");
    let (succeeded, said) = machine.run(&script);
    let last = said.rsplit("== block ").next().unwrap_or_default();
    let number: usize = last.lines().next().and_then(|line| line.trim().parse().ok()).unwrap_or(0);
    let block = commands.get(number).map_or("", |block| block.as_str());
    assert!(succeeded && said.ends_with("== the end\n"), "this block failed:\n{block}\nafter it said:\n{said}");
    assert!(commands.len() >= 10, "{} blocks", commands.len());
}

#[test]
fn every_code_block_has_a_language_and_most_are_run() {
    let blocks = blocks();
    for (word, text) in &blocks {
        assert!(
            ["sh", "console", "toml", "yaml", "nginx", "caddy", "haproxy", "text", "json"].contains(&word.as_str()),
            "{word:?}: {text}"
        );
    }
    assert_eq!(blocks.iter().filter(|(word, _)| word == "console").count(), SHOWN_ONLY);
}

#[test]
fn settings_in_the_guide_are_valid() {
    let mut shown = 0;
    for (_, text) in blocks().iter().filter(|(word, _)| word == "toml") {
        convoke_server::config::Config::of_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        shown += 1;
    }
    assert!(shown >= 2, "{shown} blocks of settings");
}

#[test]
fn every_file_in_the_guide_exists() {
    let guide = guide();
    let named: Vec<&str> = guide.split('`').filter(|word| word.starts_with("deploy/")).collect();
    assert!(named.len() >= 4);
    for path in named {
        assert!(Path::new(crate::root()).join(path).exists(), "{path}");
    }
}
