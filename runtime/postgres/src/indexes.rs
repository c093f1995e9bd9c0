//! Builds indexes of tables with rows concurrently with writes, before the transaction that changes the schema, which
//! then only renames them.
//!
//! Such a build runs outside of a transaction and waits for open ones. So no transaction may wait for it with a
//! snapshot: the building node has a lease that no transaction holds. Until the schema contains an index, it has a
//! unique temporary name ([`sql::unnamed_index`]). The next build drops indexes with temporary names, which a dead node
//! left, valid or not.

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

/// Name of the lease: one node builds at a time.
const LEASE: &str = "indexes";
/// Time between two attempts to take the lease.
const PAUSE: Duration = Duration::from_millis(100);
/// Number of attempts to take the lease.
const GIVING_BACK: u32 = 50;
/// Most attempts of a build that conflicts with others.
const ATTEMPTS: u32 = 20;
/// Time limit of one index.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
const LEFTOVERS: &str = "SELECT relname::text FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace \
                         AND relkind = 'i' AND relname LIKE '~%'";

/// The preparation of a schema change before its transaction.
#[derive(Default)]
pub(super) struct Prepared {
    /// Owner of the lease, if anything was built.
    holder: Option<u128>,
    on_opening: OnOpening,
    indexes: BTreeMap<(&'static str, &'static str), Made>,
    fields: BTreeSet<(&'static str, &'static str)>,
}

/// The result of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// It is built, under its temporary name.
    Whole,
    /// Rows have duplicate keys in it.
    Collides,
}

/// The preparable part of a schema change: indexes on tables with rows, and the fields of these indexes.
#[derive(Default)]
pub(super) struct Plan {
    fields: Vec<(&'static TableDef, &'static FieldDef)>,
    indexes: Vec<(&'static TableDef, &'static IndexDef)>,
}

impl Prepared {
    /// Creates an empty preparation; `on_opening` receives long steps.
    pub(super) fn by(on_opening: OnOpening) -> Self {
        Self { on_opening, ..Self::default() }
    }

    /// Reports the start of a long step.
    pub(super) fn begins(&self, step: &str) {
        self.on_opening.begins(step);
    }

    /// Builds what `plan` contains. Waits for another building node. Returns the session.
    ///
    /// # Errors
    /// Errors of the server. The part that was built must be completed anyway.
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
        let mut is_logged = false;
        while !own::claim(&mut session, LEASE, node)? {
            if !is_logged {
                info!("another node makes indexes; this one starts after it");
                self.begins("another node makes indexes");
                is_logged = true;
            }
            thread::sleep(PAUSE);
        }
        self.holder = Some(node);
        drop_leftovers(&mut session)?;
        // Another node may have built all of it.
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

    /// Returns the result of an index; `None`: it was not built.
    pub(super) fn index(&self, table: &TableDef, index: &IndexDef) -> Option<Made> {
        self.indexes.get(&(table.name, index.name)).copied()
    }

    /// Returns true if a field was added.
    pub(super) fn has_field(&self, table: &TableDef, field: &FieldDef) -> bool {
        self.fields.contains(&(table.name, field.name))
    }

    /// Drops the indexes that the schema does not contain, and releases the lease. The next preparation drops the rest.
    pub(super) fn finish(self, server: &Arc<Server>) {
        self.give_back(server, drop_leftovers);
    }

    /// Releases the lease and leaves everything to the next preparation, because dropping may take as long as the
    /// interrupted work.
    pub(super) fn leave(self, server: &Arc<Server>) {
        self.give_back(server, |_| Ok(()));
    }

    fn give_back(self, server: &Arc<Server>, before: impl FnOnce(&mut Session) -> Result<(), Failure>) {
        let Some(node) = self.holder else { return };
        let done = Session::open(server).and_then(|mut session| match own::claim(&mut session, LEASE, node)? {
            true => before(&mut session),
            // This node lost its lease, and the next one may own what exists.
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
    /// Returns the steps on tables with rows.
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

/// Returns true if the table exists before the change, and no write of the change can cause a duplicate key in the
/// index. Otherwise the writing step must detect it.
fn is_made_before(table: &TableDef, index: &IndexDef, steps: &[Step]) -> bool {
    let fills = |place: &usize| index.keys.iter().any(|key| key.field == *place);
    !steps.iter().any(|step| match step {
        Step::CreateTable(other) => other.name == table.name,
        Step::Fill(other, place) => index.unique && other.name == table.name && fills(place),
        _ => false,
    })
}

/// Builds an index; `None`: it failed in a way that the schema change must report.
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
        // A failed build leaves an invalid index, which still constrains writes.
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

/// Drops an index concurrently with writes.
fn drop_index(session: &mut Session, name: &str) -> Result<(), Failure> {
    let drop = Ask::Run(format!("DROP INDEX CONCURRENTLY IF EXISTS {}", quoted(name)));
    session.fly(&[drop], PATIENCE).pop().unwrap_or(Err(Failure::Late)).map(|_| ())
}

/// Renames a built index to its final name. Returns true if it is valid.
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
