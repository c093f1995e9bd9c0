//! People: what their identity provider says of them, and what they say themselves.

use convoke::{Id, Millis, table};

use crate::values::{Age, Bio, DisplayName, EmailAddress, Experience, Gender, Goals, HttpUrl, LanguageName, ShortText};

/// A person who has called at least once. Made and updated from verified claims only.
#[table(name = "users", prefix = "user")]
#[index(by_identity(issuer, subject), unique)]
#[index(by_email(email))]
#[index(by_organization(issuer, org_id))]
pub struct User {
    /// Who vouches for the identity.
    pub issuer: String,
    /// Whom the issuer means; unique within the issuer.
    pub subject: String,
    /// The e-mail address that the issuer knows.
    pub email: Option<EmailAddress>,
    /// Whether the issuer vouches for the address.
    pub email_verified: bool,
    /// The name that the issuer knows. The profile's, once there is one, is the one others see.
    pub display_name: Option<DisplayName>,
    /// A picture.
    pub avatar_url: Option<HttpUrl>,
    /// The organization, unique within the issuer; absent where there is none.
    pub org_id: Option<String>,
    /// What the issuer lets the person do, such as `admin`.
    pub roles: Vec<String>,
    /// False once an admin has deactivated the account: every call is refused.
    pub is_active: bool,
    /// When the person was last there.
    pub last_seen_at: Option<Millis>,
    /// Whether onboarding was finished once.
    pub onboarding_complete: bool,
    /// When it was finished first.
    pub onboarding_completed_at: Option<Millis>,
    /// When the row changed last.
    pub updated_at: Millis,
}

impl User {
    /// The address that a user is known to own.
    pub fn verified_address(&self) -> Option<&EmailAddress> {
        self.email.as_ref().filter(|_| self.email_verified)
    }
}

/// What somebody tells about themselves.
#[table(name = "profiles", prefix = "profile")]
#[index(by_user(user_id), unique)]
pub struct Profile {
    /// Whose it is.
    pub user_id: Id<User>,
    /// The name that others see.
    pub display_name: DisplayName,
    /// About themselves, in their words.
    pub bio: Option<Bio>,
    /// What they want to reach.
    pub goals: Option<Goals>,
    /// What they speak; each once without regard to case.
    pub languages: Vec<LanguageName>,
    /// What they have done so far, in words or years.
    pub experience: Option<Experience>,
    /// Age in years.
    pub age: Option<Age>,
    /// Gender.
    pub gender: Option<Gender>,
    /// Field of work.
    pub field: Option<ShortText>,
    /// Job title.
    pub job_title: Option<ShortText>,
    /// Company.
    pub company: Option<ShortText>,
    /// Address of their page there.
    pub linkedin_url: Option<HttpUrl>,
    /// When the row changed last.
    pub updated_at: Millis,
}
