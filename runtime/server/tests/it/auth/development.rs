//! Tokens of the development issuer, accepted by the server that holds its key and by no other.

use std::sync::Arc;
use std::time::Duration;

use convoke_server::auth::Environment;
use convoke_server::auth::development::{DevelopmentError, DevelopmentIssuer, DevelopmentUser, ISSUER, KEY_FILE};

use super::support::{Fixture, NOW, TestClock, message};

const HOUR: Duration = Duration::from_secs(3600);

fn issuer() -> DevelopmentIssuer {
    DevelopmentIssuer::ephemeral(Arc::new(TestClock::at(NOW))).unwrap()
}

#[tokio::test]
async fn development_token_names_its_subject() {
    let issuer = issuer();
    let fixture = Fixture::new(issuer.provider());
    let user = DevelopmentUser {
        email: Some("ada@example.com".into()),
        email_verified: true,
        name: Some("Ada".into()),
        roles: vec!["admin".into()],
        org_id: Some("o1".into()),
        ..DevelopmentUser::new("ada")
    };

    let identity = fixture.authenticate(&issuer.mint(&user, HOUR).unwrap()).await.unwrap();

    assert_eq!(identity.token_identifier(), format!("{ISSUER}|ada"));
    assert_eq!(identity.email.as_deref(), Some("ada@example.com"));
    assert!(identity.email_verified == Some(true) && identity.has_role("admin"));
    assert_eq!((identity.name.as_deref(), identity.org_id.as_deref()), (Some("Ada"), Some("o1")));
    assert_eq!((identity.issued_at, identity.expires_at), (Some(NOW), Some(NOW + 3600)));
}

#[tokio::test]
async fn development_token_expires() {
    let issuer = issuer();
    let fixture = Fixture::new(issuer.provider());
    let token = issuer.mint(&DevelopmentUser::new("ada"), HOUR).unwrap();
    fixture.clock.advance(3610);
    assert_eq!(message(fixture.authenticate(&token).await), "token expired 10 s ago");
}

#[tokio::test]
async fn development_token_of_another_server_is_rejected() {
    let fixture = Fixture::new(issuer().provider());
    let token = issuer().mint(&DevelopmentUser::new("ada"), HOUR).unwrap();
    assert_eq!(message(fixture.authenticate(&token).await), "signing key not known");
}

#[tokio::test]
async fn development_key_is_created_once() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        || DevelopmentIssuer::open(folder.path(), Environment::Development, Arc::new(TestClock::at(NOW))).unwrap();
    let token = open().mint(&DevelopmentUser::new("ada"), HOUR).unwrap();
    Fixture::new(open().provider()).authenticate(&token).await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn production_has_no_development_issuer_or_key() {
    let folder = tempfile::tempdir().unwrap();
    let open = |environment| DevelopmentIssuer::open(folder.path(), environment, Arc::new(TestClock::at(NOW)));
    assert!(matches!(open(Environment::Production), Err(DevelopmentError::Production)));
    assert!(!folder.path().join(KEY_FILE).exists());
    assert!(open(Environment::Staging).is_ok());
    std::fs::write(folder.path().join(KEY_FILE), "spoiled").unwrap();
    assert!(matches!(open(Environment::Staging), Err(DevelopmentError::Key(_))));
}
