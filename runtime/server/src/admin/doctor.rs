//! The doctor of a running server. It checks a copy of the database, so that it holds no snapshot.

#[cfg(feature = "otel")]
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Admin, AdminRequest, success};
use crate::archive::space;
use crate::backup::copying::Copying;
use crate::backup::schedule::{self, BackupSettings, Scheduled};
use crate::copies::Copies;
use crate::doctor::finding::Finding;
use crate::doctor::{database, files, machine};
use crate::following::Following;
#[cfg(feature = "otel")]
use convoke_calls::telemetry::Signal;
use convoke_copies::CopySettings;
use convoke_core::clock;
use convoke_core::counted::counted;
use convoke_core::error::{Error, Result};
use convoke_http::Reply;
use convoke_store::file_fields::has_files;
use convoke_store::{Nodes, Thoroughness};

/// A larger database is checked only on request.
const CHECKED_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// `GET doctor`: returns the program's version and the findings. With `full=true`, it checks the whole database.
///
/// # Errors
/// None: a failed check is a finding.
pub async fn look(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let full = request.query_as("full")?.unwrap_or(false);
    let mut findings = vec![
        match admin.runtime.ready() {
            Ok(()) => Finding::ok("server", format!("serving, version {}", env!("CARGO_PKG_VERSION"))),
            Err(reason) => Finding::problem("server", reason, "see the server's log and the findings below"),
        },
        machine::open_files(admin.runtime.limits()),
    ];
    findings.extend(machine::routes(admin.runtime.registry(), admin.runtime.data()));
    findings.extend(machine::sections(admin.runtime.missing_secrets()));
    findings.extend(backups(admin));
    findings.extend(copies(admin));
    findings.extend(following(admin));
    findings.extend(shared_files(admin));
    #[cfg(feature = "otel")]
    findings.extend(collectors(admin).await);
    let bytes = admin.runtime.store().files().bytes();
    if bytes > CHECKED_BYTES_MAX && !full {
        let says = format!("{} were not checked while the server runs; --full checks them", space::human(bytes));
        findings.push(Finding::ok("integrity", says));
    } else {
        findings.extend(database_findings(admin, full).await?);
    }
    success(&json!({ "version": env!("CARGO_PKG_VERSION"), "findings": findings }))
}

/// Returns the state of the scheduled backups, if the settings have a schedule.
fn backups(admin: &Admin) -> Option<Finding> {
    const ADVICE: &str = "see the log, the free space on the disk of the backups, and the permissions of their folder; \
                          `convoke backup` creates a backup now";
    let every = admin.runtime.settings::<BackupSettings>().every?;
    let period = humantime::format_duration(every.duration());
    if let Some(failed) = admin.runtime.memory::<Scheduled>().failed() {
        let says = format!("the last scheduled backup failed at {}: {}", clock::utc(failed.at), failed.error);
        return Some(Finding::problem("backups", says, ADVICE));
    }
    let now = admin.runtime.clock().now();
    let newest = schedule::folder(&admin.runtime).and_then(|folder| schedule::newest(&folder, now));
    Some(match newest {
        Err(error) => Finding::problem("backups", format!("the folder of backups cannot be read: {error}"), ADVICE),
        Ok(None) => {
            Finding::warning("backups", format!("a backup is due every {period}, and there is none yet"), ADVICE)
        }
        Ok(Some(at)) => {
            let age = now.since(at);
            let seconds = humantime::format_duration(Duration::from_secs(age.as_secs()));
            let says = format!("a backup is due every {period}, and the newest is {seconds} old");
            match age > every.duration() * 2 {
                true => Finding::problem("backups", says, ADVICE),
                false => Finding::ok("backups", says),
            }
        }
    })
}

/// Returns the state of the follower, if the server follows copies.
fn following(admin: &Admin) -> Option<Finding> {
    const ADVICE: &str = "check the disk or the bucket of the copies and its access; queries are answered from the state \
                          that this server has";
    let runtime = &admin.runtime;
    let status = Following::status(runtime)?;
    let state = status.state();
    let behind = humantime::format_duration(Duration::from_secs(status.behind(runtime.clock().now()).as_secs()));
    let says = format!(
        "{}: generation {}, commit {}; it had everything {behind} ago",
        status.url, state.generation, state.commit
    );
    Some(match (Following::problem(runtime), state.error) {
        (Some(problem), _) => Finding::problem("following", problem, ADVICE),
        (None, Some(error)) => Finding::warning("following", format!("the newest look failed: {error}"), ADVICE),
        (None, None) => Finding::ok("following", says),
    })
}

/// Returns the state of the continuous copies, if the settings have a place for them.
fn copies(admin: &Admin) -> Option<Finding> {
    const ADVICE: &str = "check the disk or the bucket of copy.to and its access; calls are served meanwhile, and the loss \
                          of this machine would lose what is not copied";
    let status = Copies::status(&admin.runtime)?;
    let settings = admin.runtime.settings::<CopySettings>();
    let to = settings.to.clone().unwrap_or_default();
    if let Some(problem) = Copies::problem(&admin.runtime) {
        return Some(Finding::problem("copies", problem, ADVICE));
    }
    let state = status.state();
    if let Some(error) = state.error {
        return Some(Finding::warning("copies", format!("the newest copy failed: {error}"), ADVICE));
    }
    let Some(copied_at) = state.copied_at else {
        return Some(Finding::ok("copies", format!("the first snapshot is being stored in {to}")));
    };
    let copied_at = clock::utc(copied_at);
    let says = format!("{to}: generation {}, copied up to {copied_at}", state.generation.unwrap_or_default());
    let place = to.strip_prefix("dir:").map(Path::new);
    if place.is_some_and(|place| is_on_disk_of(place, admin.runtime.store().folder())) {
        let advice = "use another disk, another machine or a bucket: the loss of this disk loses the copies too";
        return Some(Finding::warning("copies", format!("{says}, on the disk of the database"), advice));
    }
    Some(Finding::ok("copies", says))
}

fn is_on_disk_of(one: &Path, other: &Path) -> bool {
    let disk = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
    matches!((disk(one), disk(other)), (Ok(one), Ok(other)) if one == other)
}

/// Tests if the collectors of the settings accept connections.
#[cfg(feature = "otel")]
async fn collectors(admin: &Admin) -> Vec<Finding> {
    let Some(telemetry) = admin.runtime.telemetry() else { return Vec::new() };
    // Signals with the same address have one finding.
    let mut lost = BTreeMap::<(String, u16), u64>::new();
    for signal in Signal::ALL {
        if let Some(address) = telemetry.address(signal) {
            *lost.entry(address).or_default() += telemetry.lost(signal);
        }
    }
    let mut findings = Vec::new();
    for ((host, port), lost) in lost {
        findings.push(collector(&host, port, lost).await);
    }
    findings
}

#[cfg(feature = "otel")]
async fn collector(host: &str, port: u16, lost: u64) -> Finding {
    const TIMEOUT: Duration = Duration::from_secs(2);
    const ADVICE: &str = "check telemetry.otlp or OTEL_EXPORTER_OTLP_ENDPOINT, and that the collector runs; calls are served \
                          meanwhile, and the records are lost";
    match tokio::time::timeout(TIMEOUT, tokio::net::TcpStream::connect((host, port))).await {
        Ok(Ok(_)) if lost == 0 => Finding::ok("telemetry", format!("{host}:{port} accepts connections")),
        Ok(Ok(_)) => Finding::warning(
            "telemetry",
            format!("{host}:{port} accepts connections, and {} lost since the start", counted(lost, "record")),
            "the log says why: the collector rejects them, or is slower than the server; lower telemetry.sampling",
        ),
        Ok(Err(error)) => Finding::warning("telemetry", format!("{host}:{port} cannot be reached: {error}"), ADVICE),
        Err(_) => {
            Finding::warning("telemetry", format!("{host}:{port} does not accept a connection within 2 s"), ADVICE)
        }
    }
}

/// Returns a problem if several nodes serve the database and do not share the folder of files.
fn shared_files(admin: &Admin) -> Option<Finding> {
    let store = admin.runtime.store();
    let is_concerned =
        matches!(store.nodes(), Nodes::Many { .. }) && store.tables().iter().any(|table| has_files(table));
    let says = admin.runtime.files().unshared().filter(|_| is_concerned)?;
    Some(Finding::problem(
        "contents",
        says,
        "copy the folders of all nodes into the shared one, then restart each node",
    ))
}

async fn database_findings(admin: &Admin, full: bool) -> Result<Vec<Finding>> {
    let copying = match Copying::begin(&admin.runtime) {
        Ok(copying) => copying,
        Err(error) => {
            let says = format!("the database was not checked: {}", error.message());
            return Ok(vec![Finding::warning("integrity", says, "run the doctor again later")]);
        }
    };
    let runtime = admin.runtime.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let _copying = copying;
        // A content that is removed after the copy of the rows is not lost.
        let _kept = runtime.files().hold_removal();
        let store = runtime.store();
        let thoroughness = if full { Thoroughness::Full } else { Thoroughness::Quick };
        match store.snapshot(|_| {}) {
            Ok(copy) => {
                let mut found = database::look(&*copy, store.tables(), thoroughness, runtime.clock().now());
                let storage = runtime.files().storage();
                let looked = files::look(copy.reader(), store.tables(), storage, full);
                found.extend(tokio::runtime::Handle::current().block_on(looked));
                found
            }
            Err(error) => {
                let says = format!("the database cannot be copied: {error}");
                vec![Finding::problem(
                    "integrity",
                    says,
                    "check the disk and the permissions, and see the server's log",
                )]
            }
        }
    });
    looked.await.map_err(Error::internal)
}
