//! Endpoints and deliveries for functions and for the operator.

use std::sync::Arc;
use std::time::Duration;

use super::delivery::{Delivery, DeliveryState};
use super::endpoint::{self, Endpoint, EndpointState, OPERATOR};
use super::settings::WebhookSettings;
use super::{event, secret, target};
use crate::context::{Context as _, MutationCtx, QueryCtx, Read as _};
use crate::outbound::Secret;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{Cursor, Db, DbMut, Doc, Order, Page};

/// Maximum endpoints of one owner. Each event costs a row for each.
pub const ENDPOINTS_MAX: usize = 100;
/// Maximum names of events per endpoint.
const EVENTS_MAX: usize = 100;
/// Maximum characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 256;

/// An endpoint to create.
#[derive(Clone, Debug, Default)]
pub struct NewEndpoint {
    /// The owner, by the application's names; `None` for the operator.
    pub owner: Option<String>,
    /// The URL: `https://…`; in development also `http://…`.
    pub url: String,
    /// Names of the events; empty for all events.
    pub events: Vec<String>,
    /// A text for people.
    pub description: String,
}

/// A change of an endpoint. Members that are `None` stay as they are.
#[derive(Clone, Debug, Default)]
pub struct EndpointChange {
    /// The URL.
    pub url: Option<String>,
    /// Names of the events.
    pub events: Option<Vec<String>>,
    /// A text for people.
    pub description: Option<String>,
    /// True enables the endpoint, false disables it.
    pub enabled: Option<bool>,
}

/// The deliveries in a state whose events lie in a range of time.
#[derive(Clone, Copy, Debug)]
pub struct EventRange {
    /// The first time.
    pub since: Millis,
    /// The end, exclusive.
    pub until: Millis,
    /// The state of the deliveries.
    pub state: DeliveryState,
}

/// Reads endpoints and deliveries: all of them, or those of one owner. Others do not exist for it.
pub struct Webhooks<'a> {
    db: &'a Db,
    owner: Option<&'a str>,
}

impl<'a> Webhooks<'a> {
    /// Reads the webhooks of `owner`; `None` for all of them.
    pub fn of(db: &'a Db, owner: Option<&'a str>) -> Self {
        Self { db, owner }
    }

    /// Returns the endpoints, oldest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn list(&self) -> Result<Vec<Doc<Endpoint>>> {
        Ok(match self.owner {
            Some(owner) => self.db.query(Endpoint::by_owner).eq(owner).take(ENDPOINTS_MAX)?,
            None => self.db.scan::<Endpoint>().take(usize::MAX)?,
        })
    }

    /// Returns an endpoint.
    ///
    /// # Errors
    /// `NOT_FOUND`; a failure of the store.
    pub fn get(&self, id: Id<Endpoint>) -> Result<Doc<Endpoint>> {
        endpoint::existing(self.db, id, self.owner)
    }

    /// Returns deliveries of an endpoint, newest event first.
    ///
    /// # Errors
    /// `NOT_FOUND`; the cursor belongs to another list; a failure of the store.
    pub fn deliveries(
        &self,
        endpoint: Id<Endpoint>,
        state: Option<DeliveryState>,
        cursor: Option<&Cursor>,
        rows_max: usize,
    ) -> Result<Page<Doc<Delivery>>> {
        self.get(endpoint)?;
        Ok(match state {
            None => self.db.query(Delivery::by_endpoint).eq(endpoint).order(Order::Desc).page(cursor, rows_max)?,
            Some(state) => {
                let query = self.db.query(Delivery::by_endpoint_state).eq(endpoint).eq(state);
                query.order(Order::Desc).page(cursor, rows_max)?
            }
        })
    }

    /// Returns the ids of the deliveries of an endpoint in a range, oldest event first, at most `rows_max`.
    ///
    /// # Errors
    /// `NOT_FOUND`; a failure of the store.
    pub fn in_range(&self, endpoint: Id<Endpoint>, range: EventRange, rows_max: usize) -> Result<Vec<Id<Delivery>>> {
        self.get(endpoint)?;
        let found = self.db.query(Delivery::by_endpoint_state).eq(endpoint).eq(range.state);
        let keys = found.range(range.since..range.until).keys(rows_max)?;
        Ok(keys.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns a delivery.
    ///
    /// # Errors
    /// `NOT_FOUND`; a failure of the store.
    pub fn delivery(&self, id: Id<Delivery>) -> Result<Doc<Delivery>> {
        let missing = || Error::not_found("No webhook delivery has this id");
        let found = self.db.get(id)?.ok_or_else(missing)?;
        if self.owner.is_some() {
            self.get(found.endpoint).map_err(|_| missing())?;
        }
        Ok(found)
    }
}

/// Changes endpoints and deliveries: all of them, or those of one owner.
pub struct WebhooksMut<'a> {
    db: &'a mut DbMut,
    services: Services,
    now: Millis,
    owner: Option<&'a str>,
}

impl<'a> WebhooksMut<'a> {
    /// Changes the webhooks of `owner`; `None` for all of them.
    pub fn of(db: &'a mut DbMut, services: Services, now: Millis, owner: Option<&'a str>) -> Self {
        Self { db, services, now, owner }
    }

    /// Returns the same webhooks, for reads.
    pub fn view(&self) -> Webhooks<'_> {
        Webhooks::of(self.db, self.owner)
    }

    /// Creates an enabled endpoint. Returns it with its secret, which can be shown only now.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the URL, an event or the description; `FAILED_PRECONDITION`: the owner has too many
    /// endpoints; a failure of the store.
    pub fn create(&mut self, new: NewEndpoint) -> Result<(Doc<Endpoint>, Secret)> {
        let owner = self.owner.map(str::to_owned).or(new.owner).unwrap_or_else(|| OPERATOR.to_owned());
        self.check_url(&new.url)?;
        check_events(&new.events)?;
        check_description(&new.description)?;
        if self.db.query(Endpoint::by_owner).eq(&*owner).take(ENDPOINTS_MAX)?.len() >= ENDPOINTS_MAX {
            let message = format!("There are {ENDPOINTS_MAX} webhook endpoints; remove one first");
            return Err(Error::failed_precondition(message));
        }
        let mut row = Endpoint {
            owner,
            url: new.url,
            description: new.description,
            events: new.events,
            secrets: Vec::new(),
            secrets_made: 0,
            state: EndpointState::Enabled,
            disabled_reason: None,
            disabled_at: None,
            failing_since: None,
        };
        secret::rotate(&mut row, Duration::ZERO, self.now);
        let id = self.db.insert(row)?;
        self.with_secret(id)
    }

    /// Changes an endpoint.
    ///
    /// # Errors
    /// `NOT_FOUND`; as [`WebhooksMut::create`].
    pub fn change(&mut self, id: Id<Endpoint>, change: EndpointChange) -> Result<Doc<Endpoint>> {
        let found = endpoint::existing(self.db, id, self.owner)?;
        change.url.as_deref().map(|url| self.check_url(url)).transpose()?;
        change.events.as_deref().map(check_events).transpose()?;
        change.description.as_deref().map(check_description).transpose()?;
        let now = self.now;
        Ok(self.db.patch_doc(found, |row| {
            row.url = change.url.unwrap_or_else(|| std::mem::take(&mut row.url));
            row.events = change.events.unwrap_or_else(|| std::mem::take(&mut row.events));
            row.description = change.description.unwrap_or_else(|| std::mem::take(&mut row.description));
            match change.enabled {
                Some(true) => row.enable(),
                Some(false) if row.state == EndpointState::Enabled => row.disable("disabled by request", now),
                Some(false) | None => {}
            }
        })?)
    }

    /// Deletes an endpoint. Its pending deliveries are not sent. Returns false if it does not exist.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn remove(&mut self, id: Id<Endpoint>) -> Result<bool> {
        let is_own = self.db.get(id)?.is_some_and(|row| self.owner.is_none_or(|owner| row.owner == owner));
        Ok(is_own && self.db.delete(id)?)
    }

    /// Makes a new secret. The former one signs too for `overlap` more (at most 30 days).
    ///
    /// # Errors
    /// `NOT_FOUND`; `INVALID_ARGUMENT`: the overlap is too long; a failure of the store.
    pub fn rotate(&mut self, id: Id<Endpoint>, overlap: Duration) -> Result<(Doc<Endpoint>, Secret)> {
        if overlap > secret::OVERLAP_MAX {
            return Err(Error::invalid_argument("overlap", "overlap must be at most 30 days"));
        }
        let found = endpoint::existing(self.db, id, self.owner)?;
        let now = self.now;
        self.db.patch_doc(found, |row| secret::rotate(row, overlap, now))?;
        self.with_secret(id)
    }

    /// Sends a delivery again, now and with all its tries, with the id of its event.
    ///
    /// # Errors
    /// `NOT_FOUND`; a failure of the store.
    pub fn redeliver(&mut self, id: Id<Delivery>) -> Result<()> {
        let found = self.view().delivery(id)?;
        endpoint::existing(self.db, found.endpoint, self.owner)?;
        let now = self.now;
        self.db.patch_doc(found, |row| {
            row.state = DeliveryState::Pending;
            (row.due_at, row.asked_at, row.attempts) = (now, now, 0);
        })?;
        Ok(())
    }

    fn with_secret(&self, id: Id<Endpoint>) -> Result<(Doc<Endpoint>, Secret)> {
        let row = endpoint::existing(self.db, id, self.owner)?;
        let text = secret::current(&self.services, id, &row)?;
        Ok((row, text))
    }

    fn check_url(&self, url: &str) -> Result<()> {
        let settings: Arc<WebhookSettings> = self.services.settings();
        target::read(url, &settings, self.services.is_development()).map(|_| ())
    }
}

fn check_events(events: &[String]) -> Result<()> {
    if events.len() > EVENTS_MAX {
        let message = format!("events must have at most {EVENTS_MAX} names (got {})", events.len());
        return Err(Error::invalid_argument("events", message));
    }
    for (index, name) in events.iter().enumerate() {
        let field = format!("events[{index}]");
        event::require_name(name).map_err(|rule| Error::invalid_argument(&*field, format!("{field}: {rule}")))?;
    }
    Ok(())
}

fn check_description(description: &str) -> Result<()> {
    match description.chars().count() {
        0..=DESCRIPTION_CHARS_MAX => Ok(()),
        chars => {
            let message = format!("description must have at most {DESCRIPTION_CHARS_MAX} characters (got {chars})");
            Err(Error::invalid_argument("description", message))
        }
    }
}

impl QueryCtx {
    /// Returns the endpoints of webhooks and their deliveries: those of `owner`, or all of them for `None`. The function
    /// must check that the caller may see them.
    pub fn webhooks<'a>(&'a self, owner: Option<&'a str>) -> Webhooks<'a> {
        Webhooks::of(self.db(), owner)
    }
}

impl MutationCtx {
    /// Returns the endpoints of webhooks, for changes: those of `owner`, or all of them for `None`. The function must
    /// check that the caller may change them.
    pub fn webhooks_mut<'a>(&'a mut self, owner: Option<&'a str>) -> WebhooksMut<'a> {
        let (services, now) = (self.call().services.clone(), self.now());
        let woken = services.clone();
        self.after_commit(move || woken.deliveries_alarm().wake(now));
        WebhooksMut::of(self.db_mut(), services, now, owner)
    }
}
