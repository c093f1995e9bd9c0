//! Users: the claims of their identity provider, and their own profiles.

use convoke::{File, Id, Millis, table};

use crate::values::{Age, Bio, DisplayName, EmailAddress, Experience, Gender, Goals, HttpUrl, LanguageName, ShortText};

/// A user who has called at least once. The row is created and updated from verified claims only.
#[table(name = "users", prefix = "user")]
#[index(by_identity(issuer, subject), unique)]
#[index(by_email(email))]
#[index(by_organization(issuer, org_id))]
pub struct User {
    /// The issuer of the identity.
    pub issuer: String,
    /// The subject, unique within the issuer.
    pub subject: String,
    /// The e-mail address according to the issuer.
    pub email: Option<EmailAddress>,
    /// True if the issuer has verified the address.
    pub email_verified: bool,
    /// The name according to the issuer. If the user has a profile, other users see the name of the profile instead.
    pub display_name: Option<DisplayName>,
    /// The URL of a picture.
    pub avatar_url: Option<HttpUrl>,
    /// A picture that the user has uploaded. Other users see it instead of `avatar_url`.
    #[file(max = "5MiB", types("image/png", "image/jpeg", "image/webp"))]
    pub avatar: Option<File>,
    /// The organization, unique within the issuer; absent if there is none.
    pub org_id: Option<String>,
    /// The roles according to the issuer, such as `admin`.
    pub roles: Vec<String>,
    /// False after an admin deactivated the account. Every call is then rejected.
    pub is_active: bool,
    /// Time at which the user was last active.
    pub last_seen_at: Option<Millis>,
    /// True after the user has completed onboarding.
    pub onboarding_complete: bool,
    /// Time at which the user first completed onboarding.
    pub onboarding_completed_at: Option<Millis>,
    /// Time of the last change.
    pub updated_at: Millis,
}

impl User {
    /// Returns the verified address of the user.
    pub fn verified_address(&self) -> Option<&EmailAddress> {
        self.email.as_ref().filter(|_| self.email_verified)
    }
}

/// The profile of a user.
#[table(name = "profiles", prefix = "profile")]
#[index(by_user(user_id), unique)]
pub struct Profile {
    /// The user.
    pub user_id: Id<User>,
    /// The name that other users see.
    pub display_name: DisplayName,
    /// The biography.
    pub bio: Option<Bio>,
    /// The goals.
    pub goals: Option<Goals>,
    /// The languages. Each occurs once, ignoring case.
    pub languages: Vec<LanguageName>,
    /// The experience, in words or years.
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
    /// The URL of the user's page on LinkedIn.
    pub linkedin_url: Option<HttpUrl>,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// The link of a user's calendar.
#[table(name = "calendarLinks", prefix = "calendarlink")]
#[index(by_user(user_id), unique)]
#[index(by_token(token_hash), unique)]
pub struct CalendarLink {
    /// The user.
    pub user_id: Id<User>,
    /// SHA-256 of the token in the link, in hex.
    pub token_hash: String,
    /// Time of its creation.
    pub created_at: Millis,
}
