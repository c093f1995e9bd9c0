//! TLS: protocols, invalid files, and changed certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use convoke_http::{HttpOptions, Server, TlsFiles};
use rcgen::{CertifiedKey, KeyPair};
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::harness::{Client, Echo, Running, get, serve, until};

/// A folder for the files of a listener.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn files(&self) -> TlsFiles {
        TlsFiles { check_interval: Duration::from_millis(20), ..TlsFiles::new(self.cert(), self.key()) }
    }

    fn cert(&self) -> PathBuf {
        self.0.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.0.path().join("key.pem")
    }

    fn write(&self, pair: &CertifiedKey<KeyPair>) {
        fs::write(self.cert(), pair.cert.pem()).unwrap();
        self.write_key(pair, 0o600);
    }

    fn write_key(&self, pair: &CertifiedKey<KeyPair>, mode: u32) {
        let _ = fs::remove_file(self.key());
        fs::write(self.key(), pair.signing_key.serialize_pem()).unwrap();
        fs::set_permissions(self.key(), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn pair() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
}

async fn handshake(server: &Running, trusted: &CertificateDer<'static>, alpn: &[&str]) -> Option<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(server.addr).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.ok()
}

async fn error(files: TlsFiles) -> String {
    let mut options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
    options.tls = Some(files);
    Server::bind(options, Echo::default()).await.err().expect("an error").to_string()
}

#[tokio::test]
async fn both_protocols_are_offered_and_served() {
    let folder = Folder::new();
    let pair = pair();
    folder.write(&pair);
    let server = serve(|options| options.tls = Some(folder.files())).await;

    let one = handshake(&server, pair.cert.der(), &["http/1.1"]).await.unwrap();
    assert_eq!(one.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(Client::over(one).ask(get("/healthz")).await.status, 200);

    let two = handshake(&server, pair.cert.der(), &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(two.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let io = hyper_util::rt::TokioIo::new(two);
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
    tokio::spawn(connection);
    let request = hyper::Request::get("https://localhost/healthz");
    let request = request.body(http_body_util::Full::<bytes::Bytes>::default()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn changed_certificate_is_loaded_and_invalid_one_is_not() {
    let folder = Folder::new();
    let (old, new) = (pair(), pair());
    folder.write(&old);
    let server = serve(|options| options.tls = Some(folder.files())).await;
    let mut open = Client::over(handshake(&server, old.cert.der(), &[]).await.unwrap());
    assert_eq!(open.ask(get("/healthz")).await.status, 200);

    // The new certificate does not match the old key.
    fs::write(folder.cert(), new.cert.pem()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(handshake(&server, old.cert.der(), &[]).await.is_some(), "the old pair stays in use");

    folder.write_key(&new, 0o600);
    let mut is_loaded = false;
    for _ in 0..3_000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if handshake(&server, new.cert.der(), &[]).await.is_some() {
            is_loaded = true;
            break;
        }
    }
    assert!(is_loaded);
    assert!(handshake(&server, old.cert.der(), &[]).await.is_none());
    assert_eq!(open.ask(get("/healthz")).await.status, 200, "open connections are still served");
}

#[tokio::test]
async fn clear_text_to_a_tls_port_and_silent_handshake_are_closed() {
    let folder = Folder::new();
    folder.write(&pair());
    let server = serve(|options| {
        options.tls = Some(folder.files());
        options.limits.header_timeout = Duration::from_millis(150);
    })
    .await;
    server.client().await.closed().await;
    let mut clear = server.client().await;
    clear.send(get("/healthz")).await;
    let mut alert = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut clear.stream, &mut alert).await;
    assert!(!alert.starts_with(b"HTTP/"));
    until(|| server.traffic.handshake_failures.load(Relaxed) == 2).await;
}

#[tokio::test]
async fn errors_of_invalid_files_name_the_file_and_the_reason() {
    let folder = Folder::new();
    let (one, other) = (pair(), pair());
    let named = |text: &str, path: &Path| assert!(text.contains(&path.display().to_string()), "{text}");

    let missing = error(folder.files()).await;
    named(&missing, &folder.cert());
    assert!(missing.starts_with("cannot read "), "{missing}");

    folder.write(&one);
    fs::write(folder.cert(), "not PEM").unwrap();
    let content = error(folder.files()).await;
    named(&content, &folder.cert());
    assert!(content.contains("holds no certificate"), "{content}");

    folder.write(&one);
    fs::write(folder.key(), one.cert.pem()).unwrap();
    let content = error(folder.files()).await;
    named(&content, &folder.key());
    assert!(content.contains("holds no private key"), "{content}");

    folder.write(&one);
    folder.write_key(&other, 0o600);
    let mismatch = error(folder.files()).await;
    named(&mismatch, &folder.key());
    assert!(mismatch.contains("does not fit the certificate") && mismatch.contains("not a pair"), "{mismatch}");

    folder.write(&one);
    folder.write_key(&one, 0o644);
    let exposed = error(folder.files()).await;
    named(&exposed, &folder.key());
    assert!(exposed.contains("chmod 600"), "{exposed}");

    folder.write_key(&one, 0o640);
    let mut options = HttpOptions::new("127.0.0.1:0".parse().unwrap());
    options.tls = Some(folder.files());
    assert!(Server::bind(options, Echo::default()).await.is_ok(), "the group of the key may be allowed to read it");
}
