//! The certificate of a TLS listener, read at start and again whenever its files change.

use std::fs::{self, Metadata};
use std::io;
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
    /// Its private key (PKCS #8, PKCS #1 or SEC 1).
    pub key: PathBuf,
    /// How often the files are looked at for a change.
    pub check_interval: Duration,
}

impl TlsFiles {
    /// These files, looked at every five seconds.
    pub fn new(cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { cert: cert.into(), key: key.into(), check_interval: Duration::from_secs(5) }
    }
}

/// Why a certificate or its key cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not PEM, or not what it should hold.
    #[error("{} holds no {expected} in PEM form: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        expected: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Anybody on this machine can read the key.
    #[error("{} can be read by every user of this machine; run `chmod 600` on it", .0.display())]
    KeyExposed(PathBuf),
    /// Certificate and key do not go together, or the key's kind is not supported.
    #[error("the key in {} does not fit the certificate in {}: {reason}", key.display(), cert.display())]
    Mismatch {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What rustls says.
        reason: rustls::Error,
    },
    /// The cryptography refuses to be set up.
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
    /// [`TlsError`], naming the file and what to change.
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

    /// What handshakes are made with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Looks at the files now and then, forever, and takes over what changed. Connections that stand keep theirs.
    pub(crate) async fn follow(&self) {
        loop {
            tokio::time::sleep(self.files.check_interval).await;
            self.reload();
        }
    }

    /// Takes the files over if they changed. A pair that cannot be used, such as a certificate whose key is still to be
    /// written, leaves the old one in use; it is looked at again once either file changes further.
    fn reload(&self) {
        let stamp = Stamp::of(&self.files);
        if self.current.0.read().stamp == stamp {
            return;
        }
        match load(&self.files) {
            Ok(key) => {
                *self.current.0.write() = Loaded { key, stamp };
                tracing::info!(cert = %self.files.cert.display(), "took over the changed TLS certificate");
            }
            Err(error) => {
                self.current.0.write().stamp = stamp;
                tracing::warn!(%error, "the changed TLS files cannot be used; the old certificate stays in use");
            }
        }
    }
}

/// What the next handshake is answered with.
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

/// What tells one state of the two files from the next. Links are followed: renewed certificates often sit behind one.
#[derive(Debug, PartialEq, Eq)]
struct Stamp([Option<(u64, u64, Option<SystemTime>)>; 2]);

impl Stamp {
    fn of(files: &TlsFiles) -> Self {
        Self([&files.cert, &files.key].map(|path| {
            fs::metadata(path).ok().map(|metadata| (metadata.len(), inode(&metadata), metadata.modified().ok()))
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
    // This compares the certificate's public key with the private one.
    let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
        .map_err(|reason| TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone(), reason })?;
    Ok(Arc::new(certified))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn content(path: &Path, expected: &'static str, reason: &pem::Error) -> TlsError {
    TlsError::Content { path: path.to_owned(), expected, reason: reason.to_string() }
}

/// A key that everybody can read is refused. One that its group can read is a common setup (a group of those who may)
/// and only warned of.
#[cfg(unix)]
fn check_permissions(key: &Path) -> Result<(), TlsError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(key).map_err(|source| TlsError::Read { path: key.to_owned(), source })?;
    let mode = metadata.permissions().mode();
    if mode & 0o007 != 0 {
        return Err(TlsError::KeyExposed(key.to_owned()));
    }
    if mode & 0o070 != 0 {
        tracing::warn!(key = %key.display(), "the TLS key can be read by its group; `chmod 600` keeps it to its owner");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_permissions(_: &Path) -> Result<(), TlsError> {
    Ok(())
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
