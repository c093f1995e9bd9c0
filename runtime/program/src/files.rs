//! `files`: lists, downloads and removes contents of files.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::Value;

use super::connect::{ConnectArgs, Connection};
use super::failure::Failure;
use super::interrupt::interruptible;
use super::progress::Progress;
use super::table;
use convoke_core::counted::counted;
use convoke_store::Engines;

/// List and download the files that clients have uploaded, and remove those that no row needs
///
/// A file without references is removed a day after its last reference or its upload. `doctor` checks that every file
/// has its bytes.
///
///   convoke files list
///   convoke files get storedfile_01h455vb4pex5vsknk084sn02q --out photo.png
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Files {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the files, newest first
    List(List),
    /// Show one file with its hash and its owner
    Show(One),
    /// Download the content of a file
    Get(Get),
    /// Remove contents without references, expired uploads, and what a crash has left
    Sweep(Sweep),
}

#[derive(clap::Args)]
struct List {
    /// Maximum number of files
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, with the cursor of the next page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct One {
    /// The file's id, as `convoke files list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Get {
    /// The file's id, as `convoke files list` shows it
    id: String,
    /// Write the content to this path, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Sweep {
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Files {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(engines),
            What::Show(one) => {
                let connection = one.connect.open(engines)?;
                let file: Value = connection.ask(Method::GET, &path(&one.id, ""), None)?;
                table::print_json(&file)
            }
            What::Get(get) => get.run(engines),
            What::Sweep(sweep) => sweep.run(engines),
        }
    }
}

fn path(id: &str, rest: &str) -> String {
    format!("files/{}{rest}", table::encoded(id))
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Item>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    content_type: String,
    bytes: u64,
    references: u64,
    state: String,
    created_at: i64,
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let listed: Value = connection.ask(Method::GET, &format!("files?limit={}", self.limit), None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let Listed { items, cursor } = serde_json::from_value(listed)?;
        let head = ["ID", "TYPE", "BYTES", "REFERENCES", "STATE", "UPLOADED"];
        let rows = items.into_iter().map(|file| {
            let (bytes, references) = (file.bytes.to_string(), file.references.to_string());
            [file.id, file.content_type, bytes, references, file.state, table::time(file.created_at)]
        });
        table::print_rows(head, rows)?;
        if cursor.is_some() {
            note!("more with --limit");
        }
        Ok(())
    }
}

impl Get {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let failed = Failure::writing(&self.out);
        let mut out = File::create_new(&self.out).map_err(&failed)?;
        let bytes =
            connection.block_on(interruptible(fetch(&connection, &self.id, &mut out, &failed))).inspect_err(|_| {
                // A part is not the content.
                let _ = std::fs::remove_file(&self.out);
            })?;
        note!("{}: {bytes} bytes", self.out.display());
        Ok(())
    }
}

async fn fetch(
    connection: &Connection,
    id: &str,
    out: &mut File,
    failed: &dyn Fn(std::io::Error) -> Failure,
) -> Result<u64, Failure> {
    let progress = Progress::bytes("downloading", None);
    let path = format!("/api/admin/{}", path(id, "/content"));
    let mut response = connection.request(Method::GET, &path, None).await?.success().await?;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await? {
        out.write_all(&chunk).map_err(&failed)?;
        bytes += chunk.len() as u64;
        progress.at(bytes);
    }
    out.sync_all().map_err(&failed)?;
    Ok(bytes)
}

#[derive(Deserialize)]
struct Swept {
    contents: u64,
    bytes: u64,
    uploads: u64,
}

impl Sweep {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let swept: Swept = connection.ask(Method::POST, "files/sweep", None)?;
        let Swept { contents, bytes, uploads } = swept;
        let (contents, uploads) = (counted(contents, "content"), counted(uploads, "incomplete upload"));
        note!("removed {contents} ({bytes} bytes) and {uploads}");
        Ok(())
    }
}
