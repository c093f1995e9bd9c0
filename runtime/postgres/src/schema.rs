//! The recorded schema in the database, and the SQL of each step of an update.

use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::indexes::{self, Made, Plan, Prepared};
use super::own::{self, LIFETIME_S};
use super::server::Server;
use super::session::Session;
use super::sql::{self, quoted};
use super::transaction::{Committed, Death, Frame, PgTransaction, Purpose};
use super::value::{self, Bits};
use convoke_core::clock::{Clock, Millis};
use convoke_store::overlay::Base;
use convoke_store::schema::{
    Catalog, Definition, Extent, Inspected, Step, Stepped, Upkeep, VisitValues, bring_up_to_date, log_changes, steps,
};
use convoke_store::{Commits, IndexDef, OnOpening, OpenError, StoreError, TableDef, Value};

/// Rows per fetch when all rows of a table are read.
const ROWS_OF_A_PART: usize = 1_000;
/// Most attempts of a schema change that conflicts with writes.
const ATTEMPTS: u32 = 20;

/// Rejects names that the server or the engine reserves.
///
/// # Errors
/// [`OpenError::Definition`].
pub(crate) fn require_free_names(tables: &[&'static TableDef]) -> Result<(), OpenError> {
    let is_long = |name: &str| name.len() > sql::NAME_MAX;
    let refused = tables.iter().find(|table| {
        own::NAMES.contains(&table.name) || is_long(table.name) || table.fields.iter().any(|field| is_long(field.name))
    });
    refused.map_or(Ok(()), |table| {
        let mistake = format!("this name cannot be used, or one of a field has more than {} bytes", sql::NAME_MAX);
        Err(OpenError::Definition { table: table.name, file: table.file, line: table.line, mistake })
    })
}

/// Applies additions of the code in one transaction, on one node at a time; parts that need no lock are prepared
/// before. Returns the difference that cannot be applied, in plain words; then nothing was applied to the application's
/// tables. `node` is the number of this node, `on_opening` receives long steps.
pub(crate) fn apply(
    session: Session,
    server: &Arc<Server>,
    tables: &[&'static TableDef],
    extent: Extent,
    (clock, commits): (&Arc<dyn Clock>, &Arc<Commits>),
    (node, on_opening): (u128, &OnOpening),
) -> Result<(Option<String>, Session), OpenError> {
    let mut prepared = Prepared::by(on_opening.clone());
    match prepared.make(session, |session| plan(session, tables, extent, (clock, commits)), node) {
        Ok(session) => {
            let applied = commits.change_everything(|| change(session, tables, extent, (clock, commits), &prepared));
            prepared.finish(server);
            applied
        }
        Err(error) => {
            prepared.leave(server);
            Err(error)
        }
    }
}

/// Prepares the change of an existing schema.
fn plan(
    session: Session,
    tables: &[&'static TableDef],
    extent: Extent,
    (clock, commits): (&Arc<dyn Clock>, &Arc<Commits>),
) -> Result<(Plan, Session), OpenError> {
    let transaction = PgTransaction::new(session, Purpose::Upkeep, frame(clock, commits));
    let prepared = Prepared::default();
    let catalog = SchemaUpkeep(&transaction, &prepared);
    let plan = match catalog.stored()?.0 {
        0 => Plan::default(),
        _ => Plan::of(&catalog, &steps(&catalog, tables, extent)?)?,
    };
    let session = transaction.close().ok_or_else(|| OpenError::Engine("the connection is cut".to_owned()))?;
    Ok((plan, session))
}

fn change(
    mut session: Session,
    tables: &[&'static TableDef],
    extent: Extent,
    (clock, commits): (&Arc<dyn Clock>, &Arc<Commits>),
    prepared: &Prepared,
) -> Result<(Option<String>, Session), OpenError> {
    let mut attempt = 0;
    loop {
        let transaction = PgTransaction::new(session, Purpose::Upkeep, frame(clock, commits));
        let applied = transaction
            .run(&own::hold("schema"))
            .map_err(OpenError::from)
            .and_then(|()| bring_up_to_date(&SchemaUpkeep(&transaction, prepared), tables, extent, clock.now()));
        let committed = match &applied {
            Ok(applied) if applied.changed() => transaction.commit(&[], Vec::new(), Duration::from_secs(60)),
            Ok(_) => Committed::Yes,
            Err(error) => {
                Committed::No(transaction.finish().unwrap_or(Death::Failed(StoreError::Engine(error.to_string()))))
            }
        };
        let closed = transaction.close();
        let failed = match committed {
            Committed::Yes => {
                let applied = applied?;
                log_changes(&applied);
                let session = closed.ok_or_else(|| OpenError::Engine("the connection is cut".to_owned()))?;
                return Ok((applied.into_difference(), session));
            }
            Committed::Unknown(failure) => OpenError::Engine(failure.reason()),
            Committed::No(Death::Again(reason) | Death::Missing(reason)) => OpenError::Engine(reason),
            Committed::No(Death::Checked | Death::Outgrown) => OpenError::Engine("rows collide".to_owned()),
            Committed::No(Death::Cut(reason)) => return Err(OpenError::Engine(reason)),
            Committed::No(Death::Failed(error)) => return Err(applied.err().unwrap_or_else(|| error.into())),
        };
        attempt += 1;
        session = closed.filter(|_| attempt < ATTEMPTS).ok_or(failed)?;
        session.forget_statements();
        std::thread::sleep(Duration::from_millis(10 * u64::from(attempt)));
    }
}

/// Options of a transaction without time limit.
pub(crate) fn frame(clock: &Arc<dyn Clock>, commits: &Arc<Commits>) -> Frame {
    let limit = Duration::from_secs(24 * 3_600);
    Frame { clock: clock.clone(), began: clock.monotonic(), limit, commits: commits.clone() }
}

/// Compares a database with the tables in code without changing it.
pub(crate) fn inspect(transaction: &PgTransaction, tables: &[&'static TableDef]) -> Result<Inspected, OpenError> {
    let rows = transaction.own_rows("SELECT coalesce(max(applied_at), 0) FROM _schema", Vec::new())?;
    let applied_at = rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(|error| Failure::of(&error))?;
    convoke_store::schema::inspect(&SchemaUpkeep(transaction, &Prepared::default()), tables, applied_at)
}

/// Returns the greatest row id of the schema's tables.
pub(crate) fn greatest_id(transaction: &PgTransaction) -> Result<u128, OpenError> {
    let tables = "SELECT table_name::text FROM information_schema.columns \
                  WHERE table_schema = current_schema() AND column_name = '_id'";
    let mut greatest = 0;
    for row in transaction.own_rows(tables, Vec::new())? {
        let table: &str = row.try_get(0).map_err(|error| Failure::of(&error))?;
        let last = format!("SELECT {0} FROM {1} ORDER BY {0} DESC LIMIT 1", sql::ID, quoted(table));
        if let Some(row) = transaction.own_rows(&last, Vec::new())?.first() {
            greatest = greatest.max(row.try_get::<_, Bits>(0).map_err(|error| Failure::of(&error))?.0);
        }
    }
    Ok(greatest)
}

/// The recorded schema of a database and its rows, in a transaction with a preparation.
struct SchemaUpkeep<'a>(&'a PgTransaction, &'a Prepared);

impl SchemaUpkeep<'_> {
    fn is_true(&self, sql: &str) -> Result<bool, OpenError> {
        let rows = self.0.own_rows(sql, Vec::new())?;
        let truth = rows.first().map_or(Ok(false), |row| row.try_get(0));
        Ok(truth.map_err(|error| Failure::of(&error))?)
    }
}

impl Catalog for SchemaUpkeep<'_> {
    fn stored(&self) -> Result<(i64, Definition), OpenError> {
        let rows = self.0.own_rows(sql::LAST_SCHEMA, Vec::new())?;
        let Some(row) = rows.first() else { return Ok((0, Definition::default())) };
        let definition: &str = row.try_get(1).map_err(|error| Failure::of(&error))?;
        Ok((row.try_get(0).map_err(|error| Failure::of(&error))?, Definition::read(definition)?))
    }

    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String {
        sql::create_index(table, index)
    }

    fn is_empty(&self, table: &str) -> Result<bool, OpenError> {
        self.is_true(&format!("SELECT NOT EXISTS (SELECT 1 FROM {})", quoted(table)))
    }

    fn begins(&self, step: &str) {
        self.1.begins(step);
    }

    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        self.is_true(&format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {} IS NULL)", quoted(table), quoted(field)))
    }

    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError> {
        let columns: String = places.iter().map(|place| format!(", {}", quoted(table.fields[*place].name))).collect();
        let sql = format!(
            "SELECT {id}{columns} FROM {} WHERE {id} > $1 ORDER BY {id} LIMIT {ROWS_OF_A_PART}",
            quoted(table.name),
            id = sql::ID
        );
        let mut last = 0;
        loop {
            let rows = self.0.own_rows(&sql, vec![Value::Id(last).into()])?;
            for row in &rows {
                last = row.try_get::<_, Bits>(0).map_err(|error| Failure::of(&error))?.0;
                let mut values = Vec::with_capacity(places.len());
                for (column, place) in places.iter().enumerate() {
                    let value = value::value(row, column + 1, table.fields[*place].column);
                    values.push(value.map_err(|error| Failure::of(&error))?);
                }
                if visit(last, &values).is_break() {
                    return Ok(());
                }
            }
            if rows.len() < ROWS_OF_A_PART {
                return Ok(());
            }
        }
    }

    fn has_default(&self, table: &str, field: &str) -> Result<bool, OpenError> {
        self.is_true(&format!(
            "SELECT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = current_schema() \
             AND table_name = {} AND column_name = {} AND column_default IS NOT NULL)",
            sql::text_literal(table),
            sql::text_literal(field)
        ))
    }

    fn has_company(&self) -> Result<bool, OpenError> {
        // A node enters its row before it reads the schema.
        self.is_true(&format!(
            "SELECT count(*) > 1 FROM _nodes WHERE NOT alone \
             AND seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds'"
        ))
    }

    fn has_releases(&self) -> bool {
        true
    }

    fn former(&self) -> Result<Vec<Definition>, OpenError> {
        let sql = "SELECT definition FROM _schema ORDER BY version DESC OFFSET 1";
        let rows = self.0.own_rows(sql, Vec::new())?;
        let definition = |row: &tokio_postgres::Row| {
            let text: &str = row.try_get(0).map_err(|error| Failure::of(&error))?;
            Ok(Definition::read(text)?)
        };
        rows.iter().map(definition).collect()
    }
}

impl Upkeep for SchemaUpkeep<'_> {
    fn catalog(&self) -> &dyn Catalog {
        self
    }

    fn take(&self, step: &Step) -> Result<Stepped, OpenError> {
        let sql = match step {
            Step::CreateIndex(table, index) if self.1.index(table, index) == Some(Made::Collides) => {
                return Ok(Stepped::Collides);
            }
            Step::CreateIndex(table, index)
                if self.1.index(table, index) == Some(Made::Whole) && indexes::name(self.0, table, index)? =>
            {
                return Ok(Stepped::Done);
            }
            Step::AddField(table, field) if self.1.has_field(table, field) => return Ok(Stepped::Done),
            Step::CreateTable(table) => sql::create_table(table),
            Step::CreateIdIndex(table) => sql::create_id_index(table),
            Step::CreateIndex(table, index) => sql::create_index(table, index),
            Step::DropIndex(table, index) => format!("DROP INDEX {}", sql::index_name(table, index)),
            Step::DropTable(table) => format!("DROP TABLE {}", quoted(table)),
            Step::AddField(table, field) => sql::add_field(table, field),
            Step::Fill(table, _) => {
                return Err(OpenError::Engine(format!("rows of {} are written as rows", table.name)));
            }
        };
        let collides = self.0.run_or_collide(&sql)?;
        Ok(if collides { Stepped::Collides } else { Stepped::Done })
    }

    fn base(&self) -> &dyn Base {
        self.0
    }

    fn keep(&self, version: i64, at: Millis, changes: &str, definition: &str) -> Result<(), OpenError> {
        let sql = "INSERT INTO _schema (version, applied_at, changes, definition) VALUES ($1, $2, $3, $4)";
        let text = |text: &str| Value::Text(text.to_owned()).into();
        let params = vec![Value::Integer(version).into(), Value::Integer(at.0).into(), text(changes), text(definition)];
        Ok(self.0.own_change(sql, params).map(drop)?)
    }
}
