//! The checks of the machine and the settings: invalid and dangerous settings, permissions, disk space, certificates,
//! and identity providers.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_cert::der::Decode as _;

use super::finding::Finding;
use crate::archive::space::human;
use crate::auth::Environment;
use crate::auth::development::KEY_FILE;
use crate::auth::key_source::{Fetcher, http_client};
use crate::auth::provider::{KeySource, ProviderConfig};
use crate::backup::{self, secrets};
use crate::config::Config;
use convoke_calls::call::envelope::LogLinesOn;
use convoke_calls::registry::Registry;
use convoke_calls::route_call::verify::{Unverifiable, unverifiable};
use convoke_calls::services::MissingSecret;
use convoke_core::clock::Millis;
use convoke_core::counted::counted;
use convoke_core::limits::Limits;
use convoke_store::disk::Floor;
use convoke_store::{Disk as _, Files, SystemDisk};

/// Free space in which a log can grow to its limit and be checkpointed.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// Days before the expiry of a certificate at which a warning begins.
const CERTIFICATE_DAYS_MIN: i64 = 14;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Lower bound of a plausible time. An earlier clock was never set.
const EPOCH_OF_THIS_PROGRAM: Millis = Millis(1_735_689_600_000);

/// Checks the settings for errors that prevent a start, and for dangerous values.
pub fn settings(config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_dev = config.environment == Environment::Development;
    let refused = |says: String| Finding::problem("settings", says, "`convoke config check FILE` lists all errors");
    found.extend(config.problems().into_iter().map(refused));
    if !is_dev && let Err(error) = config.require_provider() {
        let says = error.to_string().lines().next().unwrap_or_default().to_owned();
        found.push(Finding::problem(
            "settings",
            says,
            "name the issuer of your users' tokens in [[auth.providers]]; for a folder of `convoke dev`: --env development",
        ));
    }
    let is_open = !config.http.listen.ip().is_loopback();
    if is_dev && is_open {
        let says =
            format!("development serves on {}: any reader of the data folder can create tokens", config.http.listen);
        found.push(Finding::warning("settings", says, "listen on 127.0.0.1, or serve with an identity provider"));
    }
    if is_open && config.http.tls.is_none() && config.http.trusted_proxies.is_empty() {
        let says = format!("tokens are sent to {} in clear text", config.http.listen);
        let advice = "set tls.cert and tls.key, or add the proxy that terminates TLS to trusted_proxies";
        found.push(Finding::warning("settings", says, advice));
    }
    if !is_dev && config.http.cors_origins.iter().any(|origin| origin == "*") {
        found.push(Finding::warning(
            "settings",
            "pages of every origin may call functions",
            "list the origins in cors_origins",
        ));
    }
    if !is_dev && config.log_lines == LogLinesOn::Always {
        let says = "log lines of functions are sent to every caller";
        found.push(Finding::warning("settings", says, "set log_lines to `error`"));
    }
    if found.is_empty() {
        found.push(Finding::ok("settings", format!("a server can start with them, in {}", config.environment)));
    }
    found
}

/// Checks the permissions of the data folder and the engine's `files`, and lists leftovers.
pub fn folder(data: &Path, files: &Files, is_served: bool, now: Millis) -> Vec<Finding> {
    let owner = match fs::metadata(data) {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => return vec![Finding::problem("data", format!("{} is not a folder", data.display()), "set --data")],
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![Finding::ok(
                "data",
                format!("{} does not exist yet; the first start creates it", data.display()),
            )];
        }
        Err(error) => {
            let says = format!("{} cannot be read: {error}", data.display());
            return vec![Finding::problem("data", says, "run as the server's user")];
        }
    };
    let mut found = permissions(data, files, &owner);
    if found.is_empty() {
        found.push(Finding::ok("permissions", format!("only the owner can access {} and its secrets", data.display())));
    }
    found.extend(leftovers(data, files, is_served));
    found.extend(newest_backup(data, now));
    found
}

/// Returns the names in a data folder that only a server with a database writes: the record of calls, stored files, and
/// the position of the copies. Without a database, they show that a former one was lost.
pub fn traces(data: &Path) -> Vec<&'static str> {
    let has_entries = |folder: PathBuf| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    let is_there = |name: &&&str| match **name {
        "copy.json" => data.join(name).exists(),
        _ => has_entries(data.join(name)),
    };
    ["calls", "files", "copy.json"].iter().filter(is_there).copied().collect()
}

/// Returns what a data folder without a database lacks, if it has traces of a former one.
pub fn lost_database(data: &Path) -> Option<(String, &'static str)> {
    let traces = traces(data);
    let says = || format!("there is no database in {}, but {} of a former one", data.display(), traces.join(", "));
    const ADVICE: &str = "restore it: `convoke restore`. To start with an empty database, use another data folder, or move \
                          these away";
    (!traces.is_empty()).then(|| (says(), ADVICE))
}

fn permissions(data: &Path, files: &Files, owner: &Metadata) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut check = |path: PathBuf, mode: u32, is_secret: bool| {
        let Ok(metadata) = fs::symlink_metadata(&path) else { return };
        let (shown, has) = (path.display(), metadata.permissions().mode() & 0o777);
        if has & !mode & 0o077 != 0 {
            let says = format!("{shown} has mode {has:04o}: others on this machine can read it");
            let advice = format!("chmod {mode:o} {shown}");
            found.push(match is_secret {
                true => Finding::problem("permissions", says, advice),
                false => Finding::warning("permissions", says, advice),
            });
        }
        if metadata.uid() != owner.uid() {
            let says = format!("{shown} has another owner than the data folder; the server may not be able to open it");
            let advice = format!("chown {}:{} {shown}", owner.uid(), owner.gid());
            found.push(Finding::problem("permissions", says, advice));
        }
    };
    check(data.to_owned(), 0o700, false);
    for file in files.database.iter().chain(&files.others) {
        check(file.clone(), 0o600, false);
    }
    check(data.join(secrets::FOLDER), 0o700, true);
    for file in secrets::files(data).unwrap_or_default() {
        check(data.join(file), 0o600, true);
    }
    check(data.join(KEY_FILE), 0o600, true);
    check(data.join(backup::FOLDER), 0o700, false);
    for backup in backup::list(&data.join(backup::FOLDER)).unwrap_or_default() {
        check(backup::secrets_of(&backup), 0o600, true);
        check(backup, 0o600, false);
    }
    found
}

fn leftovers(data: &Path, files: &Files, is_served: bool) -> Vec<Finding> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let mut found = Vec::new();
    if files.is_half_replaced {
        let says = "a replacement of the database was interrupted";
        found.push(Finding::warning("leftovers", says, "nothing is lost: the next start or command completes it"));
    }
    if let Some(scratch) = &files.scratch {
        let left = names(scratch);
        if !is_served && !left.is_empty() {
            let says = format!("{}/ contains files of interrupted work: {}", file_name(scratch), left.join(", "));
            found.push(Finding::warning("leftovers", says, "the next start removes it"));
        }
    }
    let kept = data.join(backup::FOLDER);
    let is_incomplete = |name: &String| match name.strip_suffix(".sha256") {
        Some(backup) => !kept.join(backup).exists(),
        None => name.ends_with(".partial"),
    };
    let incomplete: Vec<String> = names(&kept).into_iter().filter(is_incomplete).collect();
    if !is_served && !incomplete.is_empty() {
        let says = format!("incomplete backups in {}: {}", kept.display(), incomplete.join(", "));
        let advice = "the next backup removes files with .partial; remove a checksum without its backup";
        found.push(Finding::warning("leftovers", says, advice));
    }
    if !files.former.is_empty() {
        let bytes = files.former.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
        let names: Vec<String> = files.former.iter().map(|file| file_name(file)).collect();
        let says = format!("previous databases kept by restore and import take {}: {}", human(bytes), names.join(", "));
        found.push(Finding::warning("leftovers", says, "remove those that are no longer needed"));
    }
    if found.is_empty() {
        found.push(Finding::ok("leftovers", "none"));
    }
    found
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn newest_backup(data: &Path, now: Millis) -> Option<Finding> {
    let folder = data.join(backup::FOLDER);
    let age_ms = now.0 - backup::schedule::newest(&folder, now).ok()??.0;
    let says = format!("the newest backup in {} is {} h old", folder.display(), age_ms / 3_600_000);
    Some(if age_ms > 2 * DAY_MS {
        Finding::warning("backups", says, "run `convoke backup --keep 7` every day, and keep copies elsewhere")
    } else {
        Finding::ok("backups", says)
    })
}

/// Checks the free space for growth of the database and for a copy.
pub fn disk(data: &Path, files: &Files, limits: &Limits) -> Vec<Finding> {
    let place = data.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    let bytes = files.bytes();
    match SystemDisk.room(place) {
        Err(error) => {
            found.push(Finding::warning("disk", error.to_string(), "check whether the file system is mounted"))
        }
        Ok(room) => {
            let (free, floor) = (room.free_bytes, Floor::of(limits).bytes(room.total_bytes));
            let says = format!("{} free, the database takes {}", human(free), human(bytes));
            found.push(if files.database.is_empty() {
                Finding::ok("disk", format!("{} free; the database is elsewhere", human(free)))
            } else if free < floor {
                let advice = format!("free some space: below {} free, writes of users are rejected", human(floor));
                Finding::problem("disk", says, advice)
            } else if free < FREE_BYTES_MIN {
                Finding::problem("disk", says, "free some space: without it, writes are rejected")
            } else if free < bytes {
                Finding::warning("disk", says, "free some space: a backup or an export needs as much as the database")
            } else {
                Finding::ok("disk", says)
            });
        }
    }
    if files.log.is_some() {
        found.push(log(files.log_bytes(), limits));
    }
    found
}

fn log(bytes: u64, limits: &Limits) -> Finding {
    let says = format!("{} of log", human(bytes));
    if bytes > limits.wal_bytes_max {
        Finding::problem("log", says, "writes are rejected: a reader holds an old snapshot; see the server's log")
    } else if bytes > limits.wal_bytes_interrupt {
        Finding::warning("log", says, "a reader holds an old snapshot; see the server's log")
    } else {
        Finding::ok("log", says)
    }
}

/// Checks whether the limit of open files allows the maximum number of connections.
pub fn open_files(limits: &Limits) -> Finding {
    let needed = limits.connections_max as u64 + 2 * limits.readers as u64 + 64;
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match allowed {
        Some(allowed) if allowed < needed => Finding::warning(
            "files",
            format!("a process may open {allowed} files, but may need {needed}"),
            format!("raise the limit (`LimitNOFILE={needed}` in the systemd unit), or lower limits.connections_max"),
        ),
        Some(allowed) => Finding::ok("files", format!("a process may open {allowed}")),
        None => Finding::ok("files", "a process may open any number"),
    }
}

/// Checks that each route that verifies signatures has its secret, in this data folder or in the environment.
pub fn routes(registry: &Registry, data: &Path) -> Vec<Finding> {
    let finding = |route: Unverifiable| {
        let says = format!("{} rejects every request: {}", route.route, route.reason);
        let advice = format!("`convoke secret set {}`, unless the environment of the server sets it", route.secret);
        Finding::problem("routes", says, advice)
    };
    unverifiable(registry, data).into_iter().map(finding).collect()
}

/// Checks that each secret that the application's sections of `convoke.toml` need is set, in this data folder or in the
/// environment.
pub fn sections(missing: Vec<MissingSecret>) -> Vec<Finding> {
    let finding = |MissingSecret { section, name, reason }| {
        let advice = format!("`convoke secret set {name}`, unless the environment of the server sets it");
        Finding::problem("secrets", format!("[{section}]: {reason}"), advice)
    };
    missing.into_iter().map(finding).collect()
}

/// Checks the expiry of the certificate.
pub fn certificate(config: &Config, now: Millis) -> Option<Finding> {
    let files = config.http.tls.as_ref()?;
    let advice = "renew it; the server loads the new files automatically";
    let ends = expiry_of_chain(&files.cert)?;
    let days = (ends.saturating_mul(1_000) - now.0).div_euclid(DAY_MS);
    let says = format!("{} expires in {}", files.cert.display(), counted(days.unsigned_abs(), "day"));
    Some(if days < 0 {
        Finding::problem(
            "certificate",
            format!("{} expired {} ago", files.cert.display(), counted(days.unsigned_abs(), "day")),
            advice,
        )
    } else if days < CERTIFICATE_DAYS_MIN {
        Finding::warning("certificate", says, advice)
    } else {
        Finding::ok("certificate", says)
    })
}

/// Returns the earliest expiry of the certificates in a file, as Unix time in seconds; `None` without a readable one.
fn expiry_of_chain(file: &Path) -> Option<i64> {
    let all = CertificateDer::pem_file_iter(file).ok()?.filter_map(Result::ok);
    let ends = all.filter_map(|der| {
        let certificate = x509_cert::Certificate::from_der(&der).ok()?;
        let end = certificate.tbs_certificate().validity().not_after.to_unix_duration();
        i64::try_from(end.as_secs()).ok()
    });
    ends.min()
}

/// Checks that the keys of each identity provider can be fetched, and that its clock agrees with this machine's.
pub async fn providers(config: &Config, now: impl Fn() -> Millis) -> Vec<Finding> {
    let mut found = Vec::new();
    if now() < EPOCH_OF_THIS_PROGRAM {
        let says = "this machine's clock was never set";
        found.push(Finding::problem(
            "clock",
            says,
            "set it: `timedatectl set-ntp true`; until then, no token is valid",
        ));
    }
    let client = match http_client().timeout(config.limits.key_fetch_timeout).build() {
        Ok(client) => client,
        Err(error) => {
            return vec![Finding::problem("provider", error.to_string(), "the HTTPS client cannot be created")];
        }
    };
    for provider in &config.auth.providers {
        found.push(keys(provider, config, client.clone()).await);
        if let Some(url) = address(provider) {
            found.extend(clocks(&client, &url, config.limits.token_leeway, &now).await);
        }
    }
    found
}

async fn keys(provider: &ProviderConfig, config: &Config, client: reqwest::Client) -> Finding {
    let issuer = &provider.issuer;
    let fetcher = match Fetcher::new(provider, config.environment, &config.limits, client) {
        Ok(fetcher) => fetcher,
        Err(error) => return Finding::problem("provider", error.to_string(), "see [[auth.providers]]"),
    };
    match fetcher.fetch().await {
        Ok(_) => Finding::ok("provider", format!("the keys of {issuer} were fetched")),
        Err(error) => Finding::problem(
            "provider",
            format!("the keys of {issuer} cannot be fetched: {error}"),
            "check that this machine reaches it (network, proxy, certificates), and that the issuer is written \
             exactly as in its tokens",
        ),
    }
}

fn address(provider: &ProviderConfig) -> Option<String> {
    match &provider.keys {
        KeySource::Discovery => {
            Some(format!("{}/.well-known/openid-configuration", provider.issuer.trim_end_matches('/')))
        }
        KeySource::Url(url) => Some(url.clone()),
        KeySource::File(_) | KeySource::Set(_) => None,
    }
}

/// Compares the `Date` of a response with this machine's clock, in whole seconds.
async fn clocks(client: &reqwest::Client, url: &str, leeway: Duration, now: &impl Fn() -> Millis) -> Option<Finding> {
    let answer = client.get(url).send().await.ok()?;
    let date = httpdate::parse_http_date(answer.headers().get("date")?.to_str().ok()?).ok()?;
    let theirs = i64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let apart_s = (now().0 - theirs).abs() / 1_000;
    Some(if apart_s > i64::try_from(leeway.as_secs()).unwrap_or(i64::MAX) + 1 {
        Finding::problem(
            "clock",
            format!(
                "this machine's clock and that of {url} differ by {apart_s} s; {} s are tolerated",
                leeway.as_secs()
            ),
            "synchronize the clock with NTP: `timedatectl set-ntp true`",
        )
    } else {
        Finding::ok("clock", format!("it agrees with the clock of {url}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_expires_with_the_first_of_its_certificates() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("chain.pem");
        let pem = |year: i32| {
            let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.not_after = rcgen::date_time_ymd(year, 1, 1);
            params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
        };
        fs::write(&file, [pem(2031), pem(2030)].concat()).unwrap();
        assert_eq!(expiry_of_chain(&file), Some(1_893_456_000));
        fs::write(&file, "no certificate").unwrap();
        assert_eq!(expiry_of_chain(&file), None);
        // Dates from 2050 on have another form.
        fs::write(&file, pem(2055)).unwrap();
        assert_eq!(expiry_of_chain(&file), Some(2_682_374_400));
    }
}
