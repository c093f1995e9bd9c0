//! Secrets of the installation: from the environment, from systemd credentials, or from a file in the data folder that
//! only its owner may read.
//!
//! A secret is read on each request for it, so that the next call sees a rotated secret. It is never logged: it has no
//! `Display`, and `Debug` hides it.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use super::secret_file;
use convoke_core::error::{Error, IntoError};
use convoke_store::{private_folder, sync_folder};

/// Prefix of the environment variables: the secret `OPENAI_KEY` is `CONVOKE_SECRET_OPENAI_KEY`.
const VARIABLE: &str = "CONVOKE_SECRET_";
/// Folder in the data folder: one file per secret, with its name.
const FOLDER: &str = "secrets";
/// Characters that a key of the installation has at least. A shorter one could be guessed from data that it signed.
pub(crate) const KEY_CHARS_MIN: usize = 32;
/// Name of the key that all nodes of a database share.
pub const STORE_KEY: &str = "STORE_KEY";
/// Name of the key of links and uploads.
pub(crate) const FILES_KEY: &str = "FILES_KEY";
/// Name of the key of callbacks.
pub(crate) const CALLBACK_KEY: &str = "CALLBACK_KEY";
/// Name of the key from which the secrets of webhook endpoints are derived.
pub const WEBHOOKS_KEY: &str = "WEBHOOKS_KEY";
/// The keys of the runtime itself. The application may have more.
const KEYS: [&str; 4] = [STORE_KEY, FILES_KEY, CALLBACK_KEY, WEBHOOKS_KEY];

/// A secret text, zeroed when it is dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Returns the text itself. The caller must protect it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Makes a secret of a text of this process, such as a token for an external service.
impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Reason why a secret cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The name is invalid.
    #[error("{0:?} cannot be the name of a secret: use A-Z, 0-9 and _")]
    Name(String),
    /// The secret is not set.
    #[error("the secret {name} is not set; set CONVOKE_SECRET_{name}, or put it into {file} with mode 0600")]
    Missing {
        /// The secret.
        name: String,
        /// Path of its file.
        file: String,
    },
    /// Its file cannot be used.
    #[error("the secret {name} cannot be read: {cause}")]
    File {
        /// The secret.
        name: String,
        /// Error of the file system.
        cause: std::io::Error,
    },
    /// It is a key, and too short to be safe.
    #[error("the secret {name} has fewer than {chars_min} characters; make one with `openssl rand -base64 32`")]
    Short {
        /// The secret.
        name: String,
        /// Required number of characters.
        chars_min: usize,
    },
    /// The environment or systemd sets it, which this program does not change.
    #[error("the secret {name} is set by {place}, which takes precedence; change it there")]
    Elsewhere {
        /// The secret.
        name: String,
        /// Source of the secret.
        place: String,
    },
    /// It is too long for a key.
    #[error("the secret {0} has more than 65536 bytes")]
    Long(String),
    /// It is empty or not UTF-8.
    #[error("the secret {0} is empty or not a text")]
    NotText(String),
}

impl IntoError for SecretError {
    fn into_error(self) -> Error {
        Error::internal(self)
    }
}

/// Reads a secret. Surrounding white space (such as the last line break of a file) is removed.
///
/// # Errors
/// [`SecretError`].
pub fn read(data: &Path, name: &str) -> Result<Secret, SecretError> {
    if !is_name(name) {
        return Err(SecretError::Name(name.to_owned()));
    }
    let bytes = match std::env::var_os(format!("{VARIABLE}{name}")) {
        Some(value) => value.into_encoded_bytes(),
        None => from_file(data, name)?,
    };
    let text = Zeroizing::new(String::from_utf8(bytes).unwrap_or_default());
    match text.trim() {
        "" => Err(SecretError::NotText(name.to_owned())),
        text => Ok(Secret(text.into())),
    }
}

/// Reads a secret that is a key of the installation.
///
/// # Errors
/// [`SecretError`]; it is too short to be safe.
pub(crate) fn read_key(data: &Path, name: &str) -> Result<Secret, SecretError> {
    let key = read(data, name)?;
    require_key(name, key.expose())?;
    Ok(key)
}

fn require_key(name: &str, text: &str) -> Result<(), SecretError> {
    match text.trim().chars().count() < KEY_CHARS_MIN {
        true => Err(SecretError::Short { name: name.to_owned(), chars_min: KEY_CHARS_MIN }),
        false => Ok(()),
    }
}

/// As [`read_key`], but generates the key first if it is not set.
pub(crate) fn read_or_make(data: &Path, name: &str) -> Result<Secret, SecretError> {
    match read_key(data, name) {
        Err(SecretError::Missing { .. }) => {}
        secret => return secret,
    }
    let failed = |cause| SecretError::File { name: name.to_owned(), cause };
    let folder = data.join(FOLDER);
    private_folder(&folder).map_err(failed)?;
    secret_file::read_or_create(&folder.join(name), random).map_err(failed)?;
    read(data, name)
}

/// Maximum bytes of a secret that [`set`] accepts.
const BYTES_MAX: usize = 64 * 1024;

/// Sets a secret for the operator. The next read returns it, without a restart.
///
/// # Errors
/// [`SecretError`]: the name or the value is invalid, or the environment or systemd sets the secret.
pub fn set(data: &Path, name: &str, secret: &str) -> Result<(), SecretError> {
    require_own(name)?;
    match secret.trim() {
        "" => return Err(SecretError::NotText(name.to_owned())),
        text if text.contains('\0') => return Err(SecretError::NotText(name.to_owned())),
        text if text.len() > BYTES_MAX => return Err(SecretError::Long(name.to_owned())),
        text if KEYS.contains(&name) => require_key(name, text)?,
        _ => {}
    }
    write(data, name, secret).map_err(|cause| SecretError::File { name: name.to_owned(), cause })
}

/// Removes a secret from its file.
///
/// # Errors
/// [`SecretError`]: it is not set, or the environment or systemd sets it.
pub fn remove(data: &Path, name: &str) -> Result<(), SecretError> {
    require_own(name)?;
    let file = data.join(FOLDER).join(name);
    std::fs::remove_file(&file).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => {
            SecretError::Missing { name: name.to_owned(), file: file.display().to_string() }
        }
        _ => SecretError::File { name: name.to_owned(), cause },
    })
}

/// Returns true if a secret is set in its file or not at all, so that [`set`] and [`remove`] can change it.
pub fn is_own(name: &str) -> bool {
    require_own(name).is_ok()
}

/// Rejects an invalid name, and a secret that comes from another source than its file.
fn require_own(name: &str) -> Result<(), SecretError> {
    if !is_name(name) {
        return Err(SecretError::Name(name.to_owned()));
    }
    let variable = format!("{VARIABLE}{name}");
    let handed_over = || credentials().map(|folder| folder.join(&variable)).filter(|file| file.exists());
    let place = match std::env::var_os(&variable) {
        Some(_) => Some(variable.clone()),
        None => handed_over().map(|file| file.display().to_string()),
    };
    place.map_or(Ok(()), |place| Err(SecretError::Elsewhere { name: name.to_owned(), place }))
}

/// Writes a secret to its file, and replaces the previous one.
///
/// # Errors
/// Those of the file system.
pub fn write(data: &Path, name: &str, secret: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let folder = data.join(FOLDER);
    private_folder(&folder)?;
    // The file is readable by its owner only.
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(secret.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name))?;
    sync_folder(&folder.join(name))
}

fn random() -> std::io::Result<Vec<u8>> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes).into_bytes())
}

/// Returns the names of the secrets that are set, and their sources. Their values are not read.
pub fn names(data: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(variable, _)| Some(variable.to_str()?.strip_prefix(VARIABLE)?.to_owned()))
        .map(|name| (name.clone(), format!("{VARIABLE}{name}")))
        .collect();
    let handed_over = credentials().map(|folder| (folder, VARIABLE));
    for (folder, prefix) in handed_over.into_iter().chain([(data.join(FOLDER), "")]) {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let file_name = file.file_name();
            let name = file_name.to_str().and_then(|name| name.strip_prefix(prefix)).filter(|name| is_name(name));
            if let Some(name) = name.filter(|name| !found.iter().any(|(known, _)| known == name)) {
                found.push((name.to_owned(), file.path().display().to_string()));
            }
        }
    }
    found.sort_unstable();
    found
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}

/// Returns the folder of systemd credentials. `LoadCredential=CONVOKE_SECRET:FOLDER` creates files
/// `CONVOKE_SECRET_<NAME>` there. Only the service can read them, in spite of their mode.
fn credentials() -> Option<PathBuf> {
    std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from)
}

fn from_file(data: &Path, name: &str) -> Result<Vec<u8>, SecretError> {
    if let Some(Ok(secret)) = credentials().map(|folder| std::fs::read(folder.join(format!("{VARIABLE}{name}")))) {
        return Ok(secret);
    }
    let file = data.join(FOLDER).join(name);
    secret_file::read(&file).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => {
            SecretError::Missing { name: name.to_owned(), file: file.display().to_string() }
        }
        _ => SecretError::File { name: name.to_owned(), cause },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn file_that_only_its_owner_can_read_is_read_and_an_open_file_is_rejected() {
        let data = tempfile::tempdir().unwrap();
        std::fs::create_dir(data.path().join(FOLDER)).unwrap();
        let file = data.path().join(FOLDER).join("MODEL_KEY");
        let missing = read(data.path(), "MODEL_KEY").unwrap_err().to_string();
        assert!(missing.contains("CONVOKE_SECRET_MODEL_KEY") && missing.contains("secrets/MODEL_KEY"), "{missing}");
        std::fs::write(&file, "hush hush\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let secret = read(data.path(), "MODEL_KEY").unwrap();
        assert_eq!(secret.expose(), "hush hush");
        assert!(!format!("{secret:?}").contains("hush"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = read(data.path(), "MODEL_KEY").unwrap_err().to_string();
        assert!(open.contains("chmod 600") && !open.contains("hush"), "{open}");
        std::fs::write(&file, " \n").unwrap();
    }

    #[test]
    fn missing_secret_is_generated_once_and_only_its_owner_can_read_it() {
        let data = tempfile::tempdir().unwrap();
        let made = read_or_make(data.path(), "ROOM_KEY").unwrap();
        assert_eq!(made.expose().len(), 43);
        assert_eq!(read_or_make(data.path(), "ROOM_KEY").unwrap().expose(), made.expose());
        assert_eq!(read(data.path(), "ROOM_KEY").unwrap().expose(), made.expose());
        assert_ne!(read_or_make(data.path(), "OTHER_KEY").unwrap().expose(), made.expose());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = data.path().join(FOLDER);
        assert_eq!((mode(&folder), mode(&folder.join("ROOM_KEY"))), (0o700, 0o600));
        assert!(matches!(read_or_make(data.path(), "../KEY"), Err(SecretError::Name(_))));
    }

    #[test]
    fn key_that_can_be_guessed_is_rejected_when_it_is_set_and_when_it_is_used() {
        let data = tempfile::tempdir().unwrap();
        for name in KEYS {
            let short = set(data.path(), name, &format!(" {}\n", "k".repeat(KEY_CHARS_MIN - 1))).unwrap_err();
            assert!(short.to_string().contains("fewer than 32 characters"), "{name}: {short}");
            set(data.path(), name, &"k".repeat(KEY_CHARS_MIN)).unwrap();
        }
        // The runtime does not know which secrets of the application are keys before they are used.
        set(data.path(), "ROOM_KEY", "x").unwrap();
        assert!(matches!(read_or_make(data.path(), "ROOM_KEY"), Err(SecretError::Short { .. })));
    }

    #[test]
    fn secret_is_set_replaced_and_removed_and_only_its_owner_can_read_its_file() {
        let data = tempfile::tempdir().unwrap();
        set(data.path(), "API_KEY", "one").unwrap();
        set(data.path(), "API_KEY", "two\n").unwrap();
        assert_eq!(read(data.path(), "API_KEY").unwrap().expose(), "two");
        let file = data.path().join(FOLDER).join("API_KEY");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            names(data.path()).iter().any(|(name, place)| name == "API_KEY" && *place == file.display().to_string())
        );
        for (name, value) in [("../KEY", "x"), ("API_KEY", " "), ("API_KEY", "a\0b"), ("API_KEY", &"x".repeat(70_000))]
        {
            set(data.path(), name, value).unwrap_err();
        }
        assert_eq!(read(data.path(), "API_KEY").unwrap().expose(), "two");
        remove(data.path(), "API_KEY").unwrap();
        assert!(matches!(remove(data.path(), "API_KEY"), Err(SecretError::Missing { .. })));
        assert!(matches!(read(data.path(), "API_KEY"), Err(SecretError::Missing { .. })));
    }

    #[test]
    fn name_cannot_leave_the_folder() {
        let data = tempfile::tempdir().unwrap();
        for name in ["", "../KEY", "key", "A/B", "A B"] {
            assert!(matches!(read(data.path(), name), Err(SecretError::Name(_))), "{name}");
        }
    }
}
