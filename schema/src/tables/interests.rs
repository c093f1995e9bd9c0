//! The catalog of interests, and who has which.

use convoke::{Id, table};

use super::users::User;
use crate::values::{IconName, InterestCategory, InterestKey, InterestName};

/// An interest that people can have: one of the built-in catalog, or one that somebody added.
#[table(name = "interests", prefix = "interest")]
#[index(by_key(key), unique)]
#[index(by_category(category, key))]
#[index(by_creator(created_by))]
#[index(by_label(label_key, created_by))]
pub struct Interest {
    /// Stable: users refer to it.
    pub key: InterestKey,
    /// The name that people read.
    pub label: InterestName,
    /// What it is about.
    pub category: InterestCategory,
    /// The name of a picture.
    pub icon_name: Option<IconName>,
    /// How many users have it now; goes up and down with `userInterests`, in the same transaction.
    pub usage_count: i64,
    /// Who added it; absent for the built-in ones.
    pub created_by: Option<Id<User>>,
    /// The label without regard to case and white space; absent in rows of former releases until they are migrated.
    pub label_key: Option<String>,
}

/// Says that a user has an interest.
#[table(name = "userInterests", prefix = "userinterest")]
#[index(by_user_key(user_id, key), unique)]
#[index(by_key(key))]
pub struct UserInterest {
    /// Who.
    pub user_id: Id<User>,
    /// What, by its key in the catalog.
    pub key: InterestKey,
}
