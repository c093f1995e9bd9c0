//! `codegen`: typed clients of this program's functions.

use std::path::{Path, PathBuf};

use super::complete_file;
use super::failure::Failure;
use super::output;
use super::program;
use convoke_calls::registry::Registry;
use convoke_codegen::model::Interface;
use convoke_codegen::rust;
use convoke_codegen::typescript::{self, references};
use convoke_server::config::ClientFile;

/// Write a typed client of this program's functions
///
/// The client is one file, made from the functions that are linked into this program. No server needs to run. The same
/// functions give the same file, so that a change of the interface is visible in a review.
///
///   convoke codegen typescript --out src/convoke.ts
///   convoke codegen convex --out src/api.ts
///   convoke codegen rust --out src/convoke.rs
///   convoke codegen typescript --out src/convoke.ts --check     in CI: fails if the file is not up to date
#[derive(clap::Args)]
#[command(arg_required_else_help = true, verbatim_doc_comment)]
pub(super) struct Codegen {
    #[command(subcommand)]
    language: Language,
}

#[derive(clap::Subcommand)]
enum Language {
    /// For browsers and Node.js: one file that needs `fetch` and no package
    ///
    ///   convoke codegen typescript --out src/convoke.ts
    ///
    ///   import { createClient } from "./convoke";
    ///   const client = createClient({ url: "http://127.0.0.1:3210", token });
    ///   const user = await client.users.queries.getCurrentUser();
    ///
    /// A call rejects with an error whose `code` determines the type of its `data`. `.safe(…)` of each function returns
    /// the same as a result that does not reject. `.watch(args, onResult)` of each query reports its result and each
    /// later one. Queries, mutations (with a key per call) and calls that certainly did not run are retried if that can
    /// help; nothing else is sent twice.
    #[command(verbatim_doc_comment)]
    Typescript(Target),
    /// For npm's `convex`, in React and elsewhere: typed references to the functions, without code that runs
    ///
    ///   convoke codegen convex --out src/api.ts
    ///
    ///   import { useQuery } from "convex/react";
    ///   import { api } from "./api";
    ///   const user = useQuery(api.users.queries.getCurrentUser, {});
    #[command(verbatim_doc_comment)]
    Convex(Target),
    /// For Rust programs: one module that needs `reqwest`, `serde`, `serde_json` and `tokio`, and no crate of the
    /// server
    ///
    ///   convoke codegen rust --out src/convoke.rs
    ///   cargo add reqwest && cargo add serde --features derive
    ///   cargo add serde_json --features float_roundtrip,raw_value && cargo add tokio --features time
    ///
    ///   mod convoke;
    ///   let client = convoke::Client::new("http://127.0.0.1:3210").token(token);
    ///   let user = client.users().queries().get_current_user().await?;
    #[command(verbatim_doc_comment)]
    Rust(Target),
}

#[derive(clap::Args)]
struct Target {
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write nothing; fail if the file is not up to date
    #[arg(long, requires = "out")]
    check: bool,
}

impl Codegen {
    pub(super) fn run(self) -> Result<(), Failure> {
        let interface = Interface::of(&Registry::collect()?, program::name());
        match self.language {
            Language::Typescript(target) => target.take(&typescript::print(&interface), "typescript"),
            Language::Convex(target) => target.take(&references::print(&interface), "convex"),
            Language::Rust(target) => target.take(&rust::print(&interface), "rust"),
        }
    }
}

impl Target {
    fn take(&self, text: &str, language: &str) -> Result<(), Failure> {
        match &self.out {
            None => output::text(text),
            Some(file) if self.check => check(file, text, language),
            Some(file) => complete_file::write(file, text).map(drop),
        }
    }
}

/// Writes the clients of the settings that are not up to date, and prints their names.
pub(super) fn write_clients(clients: &[ClientFile], registry: &Registry) -> Result<(), Failure> {
    if clients.is_empty() {
        return Ok(());
    }
    let interface = Interface::of(registry, program::name());
    for client in clients {
        let texts = [
            client.typescript.as_ref().map(|file| (file, typescript::print(&interface))),
            client.convex.as_ref().map(|file| (file, references::print(&interface))),
            client.rust.as_ref().map(|file| (file, rust::print(&interface))),
        ];
        for (file, text) in texts.into_iter().flatten() {
            if complete_file::write(file, &text)? {
                note!("convoke: wrote {}", file.display());
            }
        }
    }
    Ok(())
}

fn check(file: &Path, text: &str, language: &str) -> Result<(), Failure> {
    let place = file.display();
    let there = std::fs::read_to_string(file).map_err(Failure::reading(file))?;
    if there == text {
        return Ok(());
    }
    let line = there.lines().zip(text.lines()).take_while(|(there, made)| there == made).count() + 1;
    Err(Failure(format!(
        "{place} is not up to date: it differs from line {line} on.\nTo renew it: convoke codegen {language} --out {place}"
    )))
}
