//! The certificate of a TLS listener, read at start and after every change of its files.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig, crypto::aws_lc_rs};

/// The PEM files of a TLS listener.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by its intermediates.
    pub cert: PathBuf,
    /// The private key (PKCS #8, PKCS #1 or SEC 1).
    pub key: PathBuf,
    /// Interval at which the files are checked for a change.
    pub check_interval: Duration,
}

impl TlsFiles {
    /// Creates a configuration that checks these files every five seconds.
    pub fn new(cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { cert: cert.into(), key: key.into(), check_interval: Duration::from_secs(5) }
    }
}

/// The errors of a certificate or its key.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not PEM, or lacks the expected item.
    #[error("{} holds no {expected} in PEM form: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The expected item.
        expected: &'static str,
        /// The reason.
        reason: String,
    },
    /// Every user of this machine can read the key.
    #[error("{} can be read by every user of this machine; run `chmod 600` on it", .0.display())]
    KeyExposed(PathBuf),
    /// The certificate and the key do not match, or the type of the key is not supported.
    #[error("the key in {} does not fit the certificate in {}: {}", key.display(), cert.display(), words(reason))]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The error of rustls.
        reason: rustls::Error,
    },
    /// rustls rejects the configuration.
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// The certificate in use, and the files it came from.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`], with the file and what to change.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let stamp = Stamp::of(&files);
        let current = Arc::new(Current(RwLock::new(Loaded { key: load(&files)?, stamp })));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, current, config: Arc::new(config) })
    }

    /// The configuration for handshakes.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Checks the files periodically and loads changes, forever. Open connections keep their certificate.
    pub(crate) async fn follow(&self) {
        loop {
            tokio::time::sleep(self.files.check_interval).await;
            self.reload();
        }
    }

    /// Loads the files if they changed. An invalid pair, such as a certificate whose key is not written yet, leaves the
    /// old pair in use. The next change of a file triggers another attempt.
    fn reload(&self) {
        let stamp = Stamp::of(&self.files);
        if self.current.0.read().stamp == stamp {
            return;
        }
        match load(&self.files) {
            Ok(key) => {
                *self.current.0.write() = Loaded { key, stamp };
                tracing::info!(cert = %self.files.cert.display(), "loaded the changed TLS certificate");
            }
            Err(error) => {
                self.current.0.write().stamp = stamp;
                tracing::warn!(%error, "the changed TLS files cannot be used; the old certificate stays in use");
            }
        }
    }
}

/// The certificate of the next handshake.
#[derive(Debug)]
struct Current(RwLock<Loaded>);

#[derive(Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    stamp: Stamp,
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().key))
    }
}

/// The version of the two files. Symbolic links are followed, because renewed certificates are often behind a link.
#[derive(Debug, PartialEq, Eq)]
struct Stamp([Option<(u64, u64, Option<SystemTime>)>; 2]);

impl Stamp {
    fn of(files: &TlsFiles) -> Self {
        Self([&files.cert, &files.key].map(|path| {
            fs::metadata(path).ok().map(|metadata| (metadata.len(), metadata.ino(), metadata.modified().ok()))
        }))
    }
}

fn load(files: &TlsFiles) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(&read(&files.cert)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| content(&files.cert, "certificate", &error))?;
    if chain.is_empty() {
        return Err(content(&files.cert, "certificate", &pem::Error::NoItemsFound));
    }
    check_permissions(&files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?)
        .map_err(|error| content(&files.key, "private key", &error))?;
    // `from_der` compares the certificate's public key with the private key.
    let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
        .map_err(|reason| TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone(), reason })?;
    Ok(Arc::new(certified))
}

/// Explains an error of rustls, whose names mean nothing to an operator.
fn words(reason: &rustls::Error) -> String {
    match reason {
        rustls::Error::InconsistentKeys(_) => {
            "they are not a pair; use the key for which the certificate was issued".to_owned()
        }
        rustls::Error::InvalidCertificate(_) if format!("{reason:?}").contains("CaUsedAsEndEntity") => {
            "the first certificate is that of an authority; put the certificate of the server first".to_owned()
        }
        rustls::Error::InvalidCertificate(_) => {
            "the first certificate is not one of a server; put the certificate of the server first".to_owned()
        }
        other => other.to_string(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn content(path: &Path, expected: &'static str, reason: &pem::Error) -> TlsError {
    TlsError::Content { path: path.to_owned(), expected, reason: reason.to_string() }
}

/// Rejects a key that every user can read. A key that its group can read is a common setup, so it only logs a warning.
fn check_permissions(key: &Path) -> Result<(), TlsError> {
    let metadata = fs::metadata(key).map_err(|source| TlsError::Read { path: key.to_owned(), source })?;
    let mode = metadata.permissions().mode();
    if mode & 0o007 != 0 {
        return Err(TlsError::KeyExposed(key.to_owned()));
    }
    if mode & 0o070 != 0 {
        tracing::warn!(key = %key.display(), "the TLS key can be read by its group; run `chmod 600` to restrict it to its owner");
    }
    Ok(())
}
