//! Reading the catalog, and one's own choice from it.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::store::Cursor;
use convoke::{args, query, value};
use schema::limits::LISTED_FROM_USERS;
use schema::{IconName, Interest, InterestCategory, InterestKey, InterestName, Limit, User};

use super::chosen;
use crate::{access, paging};

/// What [`list_catalog`] takes.
#[args]
pub struct ListCatalog {
    /// Only those of this category.
    pub category: Option<InterestCategory>,
    #[default(Limit::default())]
    pub limit: Limit<200, 500>,
    /// The page after the one that returned this.
    pub cursor: Option<Cursor>,
}

/// An interest of the catalog.
///
/// ```json
/// {"key": "machine-learning", "label": "Machine Learning", "category": "industry", "usageCount": 12}
/// ```
#[value(output)]
pub struct CatalogItem {
    pub key: InterestKey,
    pub label: InterestName,
    pub category: InterestCategory,
    pub icon_name: Option<IconName>,
    /// Users who have it now.
    pub usage_count: i64,
}

/// The catalog by key: the built-in interests, one's own, and those of other users that five users have.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn list_catalog(ctx: &QueryCtx, user: Doc<User>, args: ListCatalog) -> Result<Page<CatalogItem>> {
    let read = |cursor: Option<&Cursor>, rows: usize| -> Result<Page<Doc<Interest>>> {
        Ok(match args.category {
            Some(category) => ctx.db().query(Interest::by_category).eq(category).page(cursor, rows)?,
            None => ctx.db().query(Interest::by_key).page(cursor, rows)?,
        })
    };
    let show = |rows: Vec<Doc<Interest>>| {
        Ok(rows.into_iter().filter(|row| is_listed(row, user.id())).map(CatalogItem::from).collect())
    };
    paging::filtered(args.cursor.clone(), args.limit.get(), read, show)
}

fn is_listed(row: &Interest, reader: Id<User>) -> bool {
    row.created_by.is_none_or(|maker| maker == reader || row.usage_count >= LISTED_FROM_USERS)
}

impl From<Doc<Interest>> for CatalogItem {
    fn from(row: Doc<Interest>) -> Self {
        let row = row.into_inner();
        Self {
            key: row.key,
            label: row.label,
            category: row.category,
            icon_name: row.icon_name,
            usage_count: row.usage_count,
        }
    }
}

/// An interest that the caller has.
///
/// ```json
/// {"key": "machine-learning", "label": "Machine Learning", "category": "industry"}
/// ```
#[value(output)]
pub struct OwnInterest {
    pub key: InterestKey,
    pub label: InterestName,
    pub category: InterestCategory,
    pub icon_name: Option<IconName>,
}

/// The caller's interests, in the order they got them.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn get_user_interests(ctx: &QueryCtx, user: Doc<User>) -> Result<Vec<OwnInterest>> {
    let keys = chosen::keys(ctx, user.id())?;
    let rows = ctx.db().query(Interest::by_key).any(&keys).take(keys.len())?;
    let mut rows: HashMap<InterestKey, Interest> =
        rows.into_iter().map(|row| (row.key.clone(), row.into_inner())).collect();
    let own = |row: Interest| OwnInterest {
        key: row.key,
        label: row.label,
        category: row.category,
        icon_name: row.icon_name,
    };
    Ok(keys.iter().filter_map(|key| rows.remove(key)).map(own).collect())
}
