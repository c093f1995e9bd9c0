//! The book in `docs/`: its pages are listed and linked, its code is compiled, and its generated pages match the
//! program.
//!
//! `CONVOKE_BLESS` renews the generated pages.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use convoke::prelude::Code;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all files with this ending below a folder of the repository.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn pages() -> Vec<PathBuf> {
    files("docs", ".md")
}

/// Returns the blocks of code of a page: the language and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap()).collect()
}

/// Returns a page without its blocks of code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// Returns the anchors of the headings of a page, as mdBook and GitHub make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let kept = |heading: &str| heading.trim_start_matches('#').trim().to_lowercase();
    headings
        .map(|heading| {
            let letters = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            kept(heading).chars().filter(|c| letters(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Returns the targets of the links of a page that are inside the repository.
fn links(page: &str) -> Vec<String> {
    let page = prose(page);
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
}

#[test]
fn every_link_has_a_target() {
    let mut broken = Vec::new();
    let fronts = ["README.md", "ARCHITECTURE.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"];
    let fronts = fronts.map(|name| root().join(name));
    for page in pages().into_iter().chain(fronts) {
        for link in links(&read(&page)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let leads = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_in_the_summary() {
    let summary: BTreeSet<String> = links(&read(&root().join("docs/SUMMARY.md"))).into_iter().collect();
    let docs = root().join("docs");
    let pages = pages().into_iter().map(|page| page.strip_prefix(&docs).unwrap().display().to_string());
    let pages: BTreeSet<String> = pages.filter(|page| page != "SUMMARY.md").collect();
    assert_eq!(summary, pages);
}

/// Returns the lines of a text without indentation, doc comment marks and the lines that rustdoc hides.
fn lines(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("/// ").trim());
    lines.filter(|line| !line.is_empty()).fold(String::from("\n"), |all, line| all + line + "\n")
}

#[test]
fn every_code_block_is_compiled_in_an_example() {
    let read_all = |files: Vec<PathBuf>| files.iter().map(|file| lines(&read(file))).collect::<Vec<_>>();
    let templates = "runtime/cli/templates";
    let rust = read_all([files("examples", ".rs"), files(templates, ".rs")].concat());
    let scripts = [files("examples/typescript", ".ts"), files("examples/react/src", ".tsx"), files(templates, ".tsx")];
    let scripts = read_all(scripts.concat());
    let manifests = read_all([files("examples", "Cargo.toml"), files(templates, "manifest.toml")].concat());
    let mut shown = 0;
    for page in pages() {
        let text = read(&page);
        for (language, block) in blocks(&text) {
            let compiled = match language {
                "rust" => &rust,
                "ts" | "tsx" => &scripts,
                "toml" if page.to_str().unwrap().contains("/tutorial/") => &manifests,
                // The tests of the tutorial and of the operator's pages run the commands and read the settings.
                // `e2e/new.sh` applies the changes of the first chapter.
                "diff" | "sh" | "console" | "toml" | "json" | "text" | "yaml" | "nginx" | "caddy" | "haproxy" => {
                    continue;
                }
                other => panic!("{}: a block of {other:?}", page.display()),
            };
            shown += 1;
            // A block may omit lines. Each part between them must be in one file.
            for piece in block.split("…\n") {
                let found = compiled.iter().any(|file| file.contains(&lines(piece)));
                assert!(found, "{}: in no file:\n{piece}", page.display());
            }
        }
    }
    assert!(shown >= 30, "only {shown} blocks of code");
}

/// Compares a generated page with the file, or writes the file.
fn golden(page: &str, now: &str) {
    let path = root().join("docs/reference").join(page);
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(reviewed == now, "docs/reference/{page} is out of date; `.ci/renew` writes it again");
}

/// The program under the name that the book uses.
struct Program(tempfile::TempDir);

impl Program {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hello"), folder.path().join("convoke")).unwrap();
        Self(folder)
    }

    fn says(&self, args: &[&str]) -> String {
        let mut command = Command::new(self.0.path().join("convoke"));
        let output = command.args(args).current_dir(self.0.path()).env_clear().output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn golden_page_of_the_error_codes() {
    let mut page = String::from(
        "# Error codes\n\nGenerated from the program. A call with an error has this code in `errorData.code`. A retry with the same\n\
         arguments can succeed if the last column says so.\n\n| Code | HTTP status | Meaning | Retry |\n|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let retry = if code.retryable() { "yes" } else { "" };
        writeln!(page, "| `{}` | {} | {} | {retry} |", code.as_str(), code.status(), code.meaning()).unwrap();
    }
    golden("codes.md", &page);
}

/// Returns the example settings in three parts: before `[limits]`, the limits, and after them.
fn settings() -> (String, String, String) {
    let example = Program::new().says(&["config", "example"]);
    let begin = example.find("\n[limits]\n").unwrap() + 1;
    let end = example[begin..].find("\n[").map_or(example.len(), |end| begin + end + 1);
    // The paragraph above a table describes it.
    let described = |at: usize| example[..at].trim_end().rfind("\n\n").map_or(at, |blank| blank + 2);
    let (begin, end) = (described(begin), if end == example.len() { end } else { described(end) });
    (example[..begin].to_owned(), example[begin..end].to_owned(), example[end..].to_owned())
}

#[test]
fn golden_page_of_the_settings() {
    let (before, _, behind) = settings();
    let page = format!(
        "# Settings\n\nGenerated from `convoke config example`, without the [limits](limits.md). A program adds the sections and rate\n\
         classes of its functions. Flags take precedence over `CONVOKE_…` in the environment, and those over the file.\n\n\
         ```toml\n{}\n\n{}```\n",
        before.trim_end(),
        behind
    );
    golden("settings.md", &page);
}

#[test]
fn golden_page_of_the_limits() {
    let (_, limits, _) = settings();
    let mut page = String::from(
        "# Limits\n\nGenerated from the program. Each limit is a setting in the section `[limits]` of `convoke.toml`.\n\n\
         | Limit | Default | Meaning |\n|---|---|---|\n",
    );
    let mut meaning = String::new();
    for line in limits.lines() {
        match line.strip_prefix('#') {
            Some(text) if text.starts_with(' ') => {
                meaning.push_str(text);
            }
            Some(setting) => {
                let (name, default) = setting.split_once(" = ").unwrap();
                writeln!(page, "| `{name}` | `{default}` |{} |", meaning.replace('|', "\\|")).unwrap();
                meaning.clear();
            }
            None => meaning.clear(),
        }
    }
    golden("limits.md", &page);
}

/// Returns the names below `Commands:` or another heading of a help text.
fn commands(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            let heading = ["Serve:", "Call and watch:", "Data:", "Access:", "Agents:", "Generate:", "Commands:"];
            is_list = heading.contains(&line) || (is_list && line.is_empty());
        } else if is_list && line.starts_with("  ") && !line.starts_with("   ") {
            names.push(line.split_whitespace().next().unwrap().to_owned());
        }
    }
    names.retain(|name| name != "help");
    names
}

fn describe(program: &Program, command: &[&str], page: &mut String) {
    let help = program.says(&[command, &["--help"]].concat());
    let marks = "#".repeat(command.len() + 1);
    let title = command.join(" ");
    write!(page, "\n{marks} convoke {title}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    for inner in commands(&help) {
        describe(program, &[command, &[inner.as_str()]].concat(), page);
    }
}

#[test]
fn golden_page_of_the_commands() {
    let program = Program::new();
    let help = program.says(&["help"]);
    let mut page =
        format!("# Commands\n\nGenerated from the help of the program.\n\n```text\n{}\n```\n", help.trim_end());
    let commands = commands(&help);
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        describe(&program, &[&command], &mut page);
    }
    golden("cli.md", &page);
}

/// Returns the string literals of a source text, each with the code before it.
fn literals(source: &str) -> Vec<(String, String)> {
    let source: String =
        source.lines().filter(|line| !line.trim().starts_with("//")).fold(String::new(), |all, line| all + line + "\n");
    let mut found = Vec::new();
    let (mut code, mut chars) = (String::new(), source.chars().peekable());
    while let Some(c) = chars.next() {
        if c != '"' || code.ends_with('\'') {
            code.push(c);
            continue;
        }
        let mut text = String::new();
        while let Some(c) = chars.next().filter(|c| *c != '"') {
            if c != '\\' {
                text.push(c);
            } else if chars.next() == Some('\n') {
                while chars.next_if(|c| c.is_whitespace()).is_some() {}
            }
        }
        found.push((std::mem::take(&mut code), text));
    }
    found
}

/// Adds the metrics of a source text: two literals in a row are a name and its description.
fn metrics_of(source: &str, is_engine: bool, found: &mut BTreeSet<(String, &'static str, String)>) {
    for pair in literals(source).windows(2) {
        let [(before, name), (between, help)] = pair else { continue };
        let before = before.trim_end();
        let is_stat = before.ends_with("NamedStat::gauge(") || before.ends_with("NamedStat::counter(");
        let is_metric = name.starts_with("convoke_") || name.starts_with("process_");
        let is_wanted = if is_engine { is_stat } else { is_metric };
        if !is_wanted || between.trim() != "," {
            continue;
        }
        let kind = match before.rsplit(['.', ':']).next().unwrap_or_default() {
            "counter(" | "counters(" => "counter",
            "gauge(" | "gauges(" | "" => "gauge",
            _ if before.ends_with('(') && name.starts_with("process_") => "gauge",
            _ if name.ends_with("_total") => "counter",
            _ => "histogram",
        };
        let name = if is_engine { format!("convoke_store_{name}") } else { name.clone() };
        found.insert((name, kind, help.clone()));
    }
}

#[test]
fn golden_page_of_the_metrics() {
    let mut page = String::from(
        "# Metrics\n\nGenerated from the source. `/metrics` on `ops_listen` has them as Prometheus text. A metric with labels appears with its\n\
         first value. An application may add metrics of its own.\n",
    );
    let engines = [("SQLite", "runtime/sqlite/src"), ("PostgreSQL", "runtime/postgres/src")];
    for (title, folder) in [("All engines", "runtime/server/src/metrics")].into_iter().chain(engines) {
        let mut metrics = BTreeSet::new();
        for file in files(folder, ".rs") {
            metrics_of(&read(&file), title != "All engines", &mut metrics);
        }
        assert!(metrics.len() > 1, "{folder}: {metrics:?}");
        write!(page, "\n## {title}\n\n| Metric | Kind | Meaning |\n|---|---|---|\n").unwrap();
        for (name, kind, help) in metrics {
            writeln!(page, "| `{name}` | {kind} | {} |", help.replace('|', "\\|")).unwrap();
        }
    }
    golden("metrics.md", &page);
}
