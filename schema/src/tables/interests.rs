//! The catalog of interests, and the interests of each user.

use convoke::{Id, table};

use super::users::User;
use crate::values::{IconName, InterestCategory, InterestKey, InterestName};

/// An interest: an entry of the built-in catalog, or one that a user added.
#[table(name = "interests", prefix = "interest")]
#[index(by_key(key), unique)]
#[index(by_category(category, key))]
#[index(by_creator(created_by))]
#[index(by_label(label_key, created_by))]
pub struct Interest {
    /// The key. It never changes, because rows of users refer to it.
    pub key: InterestKey,
    /// The displayed name.
    pub label: InterestName,
    /// The category.
    pub category: InterestCategory,
    /// The name of an icon.
    pub icon_name: Option<IconName>,
    /// The number of users who have it. The transaction that changes `userInterests` also changes this number.
    pub usage_count: i64,
    /// The user who added it; absent for built-in interests.
    pub created_by: Option<Id<User>>,
    /// The label with case and white space normalized. Absent in rows of older releases until they are migrated.
    pub label_key: Option<String>,
}

/// An interest of a user.
#[table(name = "userInterests", prefix = "userinterest")]
#[index(by_user_key(user_id, key), unique)]
#[index(by_key(key))]
pub struct UserInterest {
    /// The user.
    pub user_id: Id<User>,
    /// The key of the interest in the catalog.
    pub key: InterestKey,
}
