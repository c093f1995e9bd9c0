//! Updates the row of a user from the claims of a token.
//!
//! Arguments of calls never change these fields. The runtime verifies tokens, and ignores claims of tokens that are
//! older than the last one.

use convoke::Identity;
use convoke::prelude::*;
use schema::{Actor, DisplayName, EmailAddress, HttpUrl, User};

use crate::interests::seed;
use crate::meetings::invitations;

/// Creates or updates the row of an identity, and accepts the invitations to its verified address.
///
/// # Errors
/// A failure of the store.
pub fn admit(ctx: &mut MutationCtx, identity: &Identity) -> Result<()> {
    let stored = ctx.db().query(User::by_identity).eq(&identity.issuer).eq(&identity.subject).unique()?;
    let now = ctx.now();
    let (user, before) = match stored {
        None => {
            // The first call of the first user is the first use of the catalog.
            seed::ensure(ctx)?;
            let id = ctx.db_mut().insert(first_seen(identity, now))?;
            let user = ctx.db().get(id)?.ok_or_else(|| Error::internal("a user that was just made is not there"))?;
            info!("First call of {id}");
            (user, None)
        }
        Some(stored) => {
            let before = stored.verified_address().cloned();
            let user = ctx.db_mut().patch_doc(stored, |row| {
                let old = row.clone();
                update(row, identity);
                if *row != old {
                    row.updated_at = now;
                }
            })?;
            (user, before)
        }
    };
    if user.verified_address() != before.as_ref() {
        invitations::accept(ctx, &user, &Actor::user(user.id()))?;
    }
    Ok(())
}

fn first_seen(identity: &Identity, now: Millis) -> User {
    let mut user = User {
        issuer: identity.issuer.clone(),
        subject: identity.subject.clone(),
        email: None,
        email_verified: false,
        display_name: None,
        avatar_url: None,
        avatar: None,
        org_id: None,
        roles: Vec::new(),
        is_active: true,
        last_seen_at: None,
        onboarding_complete: false,
        onboarding_completed_at: None,
        updated_at: now,
    };
    update(&mut user, identity);
    user
}

/// Applies the claims. An absent or unusable claim does not change the stored value, except that missing roles and a
/// missing organization are removed, because they are rights.
fn update(user: &mut User, identity: &Identity) {
    if let Some(email) = identity.email.as_deref().and_then(|email| EmailAddress::new(email).ok()) {
        let stays_verified = user.email_verified && user.email.as_ref() == Some(&email);
        user.email_verified = identity.email_verified.unwrap_or(stays_verified);
        user.email = Some(email);
    }
    if let Some(name) = identity.name.as_deref().and_then(usable_name) {
        user.display_name = Some(name);
    }
    if let Some(picture) = identity.picture.as_deref().and_then(|url| HttpUrl::new(url).ok()) {
        user.avatar_url = Some(picture);
    }
    user.org_id = identity.org_id.clone().filter(|org| is_organization(org));
    user.roles = identity.roles.clone();
}

/// Returns true if a row can store it. The runtime accepts no other id, but an identity from elsewhere must not lock
/// out its user.
fn is_organization(org: &str) -> bool {
    !org.contains('\0') && (1..=Identity::KEY_CHARS_MAX).contains(&org.chars().count())
}

/// Returns a usable display name. Some providers send the e-mail address, which other users must not see.
fn usable_name(name: &str) -> Option<DisplayName> {
    if name.contains('@') { None } else { DisplayName::new(name).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            issuer: "https://id.example".to_owned(),
            subject: "ada".to_owned(),
            email: Some("Ada@Example.org".to_owned()),
            email_verified: Some(true),
            name: Some("Ada".to_owned()),
            picture: Some("https://pictures.example/ada.png".to_owned()),
            org_id: Some("org-1".to_owned()),
            roles: vec!["admin".to_owned()],
            ..Identity::default()
        }
    }

    #[test]
    fn absent_claims_keep_stored_values_except_rights() {
        let mut user = first_seen(&identity(), Millis(1));
        let issuer_and_subject =
            Identity { issuer: "https://id.example".to_owned(), subject: "ada".to_owned(), ..Identity::default() };
        update(&mut user, &issuer_and_subject);
        assert_eq!(user.email, Some(EmailAddress::new("ada@example.org").unwrap()));
        assert!(user.email_verified);
        assert_eq!(user.display_name, Some(DisplayName::new("Ada").unwrap()));
        assert!(user.avatar_url.is_some());
        assert_eq!((user.org_id, user.roles), (None, vec![]));
    }

    #[test]
    fn a_name_with_an_at_sign_or_too_long_and_a_picture_that_is_no_url_count_as_absent() {
        for name in ["ada@example.org", "", "  ", &"x".repeat(101)] {
            let user = first_seen(&Identity { name: Some(name.to_owned()), ..identity() }, Millis(1));
            assert_eq!(user.display_name, None, "{name:?}");
        }
        let user = first_seen(&Identity { picture: Some("javascript:alert(1)".to_owned()), ..identity() }, Millis(1));
        assert_eq!(user.avatar_url, None);
    }

    #[test]
    fn an_organization_that_no_row_can_hold_counts_as_absent() {
        for org in ["", "a\0b", &"x".repeat(256)] {
            let user = first_seen(&Identity { org_id: Some(org.to_owned()), ..identity() }, Millis(1));
            assert_eq!(user.org_id, None, "{org:?}");
        }
        let org = Some("é".repeat(255));
        assert_eq!(first_seen(&Identity { org_id: org.clone(), ..identity() }, Millis(1)).org_id, org);
    }

    #[test]
    fn changed_address_is_unverified() {
        let mut user = first_seen(&identity(), Millis(1));
        let moved = Identity { email: Some("ada@new.example".to_owned()), email_verified: None, ..identity() };
        update(&mut user, &moved);
        assert_eq!(user.email, Some(EmailAddress::new("ada@new.example").unwrap()));
        assert!(!user.email_verified);
    }

    #[test]
    fn a_verified_address_is_lost_only_to_a_claim_that_says_so() {
        let mut user = first_seen(&identity(), Millis(1));
        update(&mut user, &Identity { email_verified: None, ..identity() });
        assert!(user.email_verified, "the claim was absent");
        update(&mut user, &Identity { email_verified: Some(false), ..identity() });
        assert!(!user.email_verified);
    }
}
