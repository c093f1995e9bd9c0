//! Indexes of tables with rows, built while others write: before the transaction that changes the schema, which only gives
//! them their names.
//!
//! Such a build runs in no transaction and waits for those that are open, so nobody may wait for it with a snapshot: whoever
//! builds has a lease that no transaction holds. Until the schema has it an index has a name that no other one has
//! ([`sql::unnamed_index`]); what is found under such a name by the next one who builds was left by a node that died, whole
//! or not, and is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing::{info, warn};

use super::failure::Failure;
use super::own;
use super::server::Server;
use super::session::{Ask, Session};
use super::sql::{self, quoted};
use super::transaction::PgTransaction;
use convoke_store::schema::{Catalog, Step};
use convoke_store::{FieldDef, IndexDef, OnOpening, OpenError, TableDef, Value};

/// What only one node does at a time.
const LEASE: &str = "indexes";
/// Between two attempts to be that one.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is tried to let another node be it.
const GIVING_BACK: u32 = 50;
/// How often a build is begun anew that is in conflict with others.
const ATTEMPTS: u32 = 20;
/// For one index.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
const LEFTOVERS: &str = "SELECT relname::text FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace \
                         AND relkind = 'i' AND relname LIKE '~%'";

/// What was made for a change of the schema before its transaction.
#[derive(Default)]
pub(super) struct Prepared {
    /// Whose lease it is, if there was anything to make.
    holder: Option<u128>,
    on_opening: OnOpening,
    indexes: BTreeMap<(&'static str, &'static str), Made>,
    fields: BTreeSet<(&'static str, &'static str)>,
}

/// What became of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// It is there, without its name.
    Whole,
    /// Rows collide in it.
    Collides,
}

/// What can be made before a change of the schema: the indexes that it adds to tables with rows, and the fields of those.
#[derive(Default)]
pub(super) struct Plan {
    fields: Vec<(&'static TableDef, &'static FieldDef)>,
    indexes: Vec<(&'static TableDef, &'static IndexDef)>,
}

impl Prepared {
    /// Nothing yet; `on_opening` receives what takes long.
    pub(super) fn by(on_opening: OnOpening) -> Self {
        Self { on_opening, ..Self::default() }
    }

    /// A long step begins.
    pub(super) fn begins(&self, step: &str) {
        self.on_opening.begins(step);
    }

    /// Makes what `plan` says. Waits for another node that does so. Gives the session back.
    ///
    /// # Errors
    /// The server's. What was made until then is to be finished all the same.
    pub(super) fn make(
        &mut self,
        session: Session,
        plan: impl Fn(Session) -> Result<(Plan, Session), OpenError>,
        node: u128,
    ) -> Result<Session, OpenError> {
        let (planned, mut session) = plan(session)?;
        if planned.indexes.is_empty() {
            return Ok(session);
        }
        let mut is_told = false;
        while !own::claim(&mut session, LEASE, node)? {
            if !is_told {
                info!("another node makes indexes; this one starts after it");
                self.begins("another node makes indexes");
                is_told = true;
            }
            thread::sleep(PAUSE);
        }
        self.holder = Some(node);
        drop_leftovers(&mut session)?;
        // Another node may have done all of it.
        let (planned, mut session) = plan(session)?;
        for (table, field) in planned.fields {
            session.run(sql::add_field(table, field))?;
            self.fields.insert((table.name, field.name));
        }
        for (table, index) in planned.indexes {
            self.begins(&format!("table {}: making index {}", table.name, index.name));
            if let Some(made) = build(&mut session, table, index)? {
                self.indexes.insert((table.name, index.name), made);
            }
        }
        session.forget_statements();
        Ok(session)
    }

    /// What became of an index; `None` if nobody has made it before.
    pub(super) fn index(&self, table: &TableDef, index: &IndexDef) -> Option<Made> {
        self.indexes.get(&(table.name, index.name)).copied()
    }

    /// Whether a field is there.
    pub(super) fn has_field(&self, table: &TableDef, field: &FieldDef) -> bool {
        self.fields.contains(&(table.name, field.name))
    }

    /// Removes the indexes that the schema has not taken, and gives the lease back. What cannot be removed now is when
    /// something is prepared again.
    pub(super) fn finish(self, server: &Arc<Server>) {
        self.give_back(server, drop_leftovers);
    }

    /// Gives the lease back, and leaves what was made to the next one: to remove it may take as long as what was broken off.
    pub(super) fn leave(self, server: &Arc<Server>) {
        self.give_back(server, |_| Ok(()));
    }

    fn give_back(self, server: &Arc<Server>, before: impl FnOnce(&mut Session) -> Result<(), Failure>) {
        let Some(node) = self.holder else { return };
        let done = Session::open(server).and_then(|mut session| match own::claim(&mut session, LEASE, node)? {
            true => before(&mut session),
            // This one was not heard of meanwhile, and what there is may be of the next one.
            false => Ok(()),
        });
        if let Err(failure) = done {
            info!("what was prepared for the schema is left to the next node that starts: {failure:?}");
        }
        for _ in 0..GIVING_BACK {
            let given = Session::open(server).and_then(|mut session| own::give_back(&mut session, LEASE, node));
            match given {
                Ok(()) => return,
                Err(failure) => warn!("other nodes cannot make indexes yet: {failure:?}"),
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Plan {
    /// Of these steps, in tables with rows.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn of(catalog: &dyn Catalog, steps: &[Step]) -> Result<Self, OpenError> {
        let mut plan = Self::default();
        for step in steps {
            if let Step::CreateIndex(table, index) = step
                && is_made_before(table, index, steps)
                && !catalog.is_empty(table.name)?
            {
                plan.indexes.push((table, index));
            }
        }
        for step in steps {
            if let Step::AddField(table, field) = step
                && plan.indexes.iter().any(|(meant, _)| meant.name == table.name)
            {
                plan.fields.push((table, field));
            }
        }
        Ok(plan)
    }
}

/// Whether the table stands before the change, and nothing that the change writes can collide in the index: then the step
/// that writes it is to be told so.
fn is_made_before(table: &TableDef, index: &IndexDef, steps: &[Step]) -> bool {
    let fills = |place: &usize| index.keys.iter().any(|key| key.field == *place);
    !steps.iter().any(|step| match step {
        Step::CreateTable(other) => other.name == table.name,
        Step::Fill(other, place) => index.unique && other.name == table.name && fills(place),
        _ => false,
    })
}

/// Builds an index; `None` if it fails in a way that is for the change of the schema to tell.
fn build(session: &mut Session, table: &TableDef, index: &IndexDef) -> Result<Option<Made>, Failure> {
    let (name, table_name) = (sql::unnamed_index(table.name, index.name), table.name);
    info!("table {table_name}: index {} is being built", index.name);
    for attempt in 1..=ATTEMPTS {
        let create = Ask::Run(sql::create_index_beside(table, index));
        let built = session.fly(&[create], PATIENCE).pop().unwrap_or(Err(Failure::Late));
        let made = match built {
            Ok(_) => return Ok(Some(Made::Whole)),
            Err(failure @ (Failure::Cut(_) | Failure::Late)) => return Err(failure),
            Err(Failure::Unique) => Some(Made::Collides),
            Err(Failure::Conflict(_)) if attempt < ATTEMPTS => None,
            Err(_) => {
                drop_index(session, &name)?;
                return Ok(None);
            }
        };
        // A build that fails leaves an index that is not valid, and holds writes to it all the same.
        drop_index(session, &name)?;
        if made.is_some() {
            return Ok(made);
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

fn drop_leftovers(session: &mut Session) -> Result<(), Failure> {
    for row in session.rows(LEFTOVERS, Vec::new())? {
        let name: &str = row.try_get(0).map_err(|error| Failure::of(&error))?;
        drop_index(session, name)?;
    }
    Ok(())
}

/// Drops an index beside those who write.
fn drop_index(session: &mut Session, name: &str) -> Result<(), Failure> {
    let drop = Ask::Run(format!("DROP INDEX CONCURRENTLY IF EXISTS {}", quoted(name)));
    session.fly(&[drop], PATIENCE).pop().unwrap_or(Err(Failure::Late)).map(|_| ())
}

/// Gives an index that was made before its name; says whether it is there and whole.
///
/// # Errors
/// The server's.
pub(super) fn name(transaction: &PgTransaction, table: &TableDef, index: &IndexDef) -> Result<bool, OpenError> {
    const IS_WHOLE: &str = "SELECT 1 FROM pg_index JOIN pg_class ON oid = indexrelid \
        WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relname = $1 AND indisvalid";
    let unnamed = sql::unnamed_index(table.name, index.name);
    if transaction.own_rows(IS_WHOLE, vec![Value::Text(unnamed.clone()).into()])?.is_empty() {
        return Ok(false);
    }
    let named = sql::index_name(table.name, index.name);
    transaction.run(&format!("ALTER INDEX {} RENAME TO {named}", quoted(&unnamed)))?;
    Ok(true)
}
