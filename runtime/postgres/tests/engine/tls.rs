//! The way to the server: encrypted, and to the server that the certificate names.

use std::sync::Arc;

use convoke_core::clock::SystemClock;
use convoke_postgres::Postgres;
use convoke_store::EngineFactory as _;

/// Returns the result of a connection to `host` with these roots.
fn attempt(host: &str, roots: Option<&str>) -> Result<(), String> {
    let url = std::env::var("CONVOKE_TEST_POSTGRES").unwrap().replace("127.0.0.1", host);
    let folder = std::env::var("CONVOKE_TEST_POSTGRES_TLS").expect("e2e/postgres.sh makes certificates");
    let roots = roots.map(|name| format!("&sslrootcert={folder}/{name}.pem")).unwrap_or_default();
    let server =
        Postgres::at(&format!("{url}?sslmode=verify-full&schema=tls_{}{roots}", std::process::id()), None).unwrap();
    let data = tempfile::tempdir().unwrap();
    let installation = server.lock(data.path(), Arc::new(SystemClock::new())).map_err(|error| error.to_string())?;
    installation.database().map_err(|error| error.to_string()).map(drop)
}

#[test]
fn certificate_must_match_the_root_and_the_name() {
    attempt("localhost", Some("root")).unwrap();
    for (host, roots, says) in [
        ("localhost", Some("other"), "it is of no authority that is trusted here; name its root by sslrootcert=FILE"),
        ("localhost", None, "it is of no authority that is trusted here; name its root by sslrootcert=FILE"),
        ("127.0.0.1", Some("root"), "it is for another name; use a name of the certificate in the address"),
    ] {
        let refused = attempt(host, roots).unwrap_err();
        assert!(refused.contains("the certificate of the database server is refused"), "{host} {roots:?}: {refused}");
        assert!(refused.contains(says), "{host} {roots:?}: {refused}");
    }
}

#[test]
fn unreadable_roots_are_named() {
    let refused =
        Postgres::at("postgres://convoke@localhost/convoke?sslrootcert=/nowhere.pem", None).unwrap_err().to_string();
    assert!(refused.contains("sslrootcert /nowhere.pem cannot be read"), "{refused}");
}
