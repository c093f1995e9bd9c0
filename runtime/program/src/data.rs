//! `data`: tables and their rows.

use hyper::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::connect::{ConnectArgs, Connection};
use super::data_change::{self, Change};
use super::failure::Failure;
use super::output;
use super::table::{aligned, encoded, print, print_rows};
use convoke_server::archive::space::human;
use convoke_store::Engines;

/// Show the tables, or the rows of a table; add, change or remove a row
///
/// Reads the stored rows, with or without a running server. Rows are ordered by id, that is by creation time. Cells are
/// truncated for people; --json prints each row in full, one per line. A change follows the rules of the table, and
/// live queries see it. A value is read in the form that its field needs; `null` removes it.
///
///   convoke data
///   convoke data users --limit 5
///   convoke data users --where email=ada@example.com --json
///   convoke data meetings --where 'title~stand-up' --where '_creationTime>2026-11-01'
///   convoke data meetings --id meeting_01kdw0…
///   convoke data meetings set meeting_01kdw0… title='Stand-up' maxParticipants=12
///   convoke data interests add key=rust name=Rust
///   convoke data meetings delete meeting_01kdw0…
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Data {
    /// The table; without it, all tables with their rows and bytes
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// Change the rows instead of showing them
    #[arg(value_name = "CHANGE", requires = "table", conflicts_with_all = ["limit", "cursor", "id", "having", "json"])]
    change: Option<Change>,
    /// The row's id, and its fields as FIELD=VALUE
    #[arg(value_name = "WORD", requires = "change")]
    words: Vec<String>,
    /// Maximum number of rows; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50, requires = "table")]
    limit: usize,
    /// Only rows after this id
    #[arg(long, value_name = "ID", requires = "table")]
    cursor: Option<String>,
    /// The row with this id
    #[arg(long, value_name = "ID", requires = "table", conflicts_with_all = ["cursor", "having"])]
    id: Option<String>,
    /// Only rows that match: FIELD=VALUE, or with != < <= > >= or ~ (contains) in place of =; if repeated, all must
    /// match
    #[arg(long = "where", id = "having", value_name = "FIELD=VALUE", requires = "table")]
    having: Vec<String>,
    /// Include the runtime's own tables
    #[arg(long)]
    system: bool,
    /// Print JSON, one object per line, for tools
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Deserialize)]
struct Tables {
    tables: Vec<Table>,
}

#[derive(Deserialize, serde::Serialize)]
struct Table {
    name: String,
    prefix: String,
    system: bool,
    rows: Option<u64>,
    bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Page {
    columns: Vec<Column>,
    rows: Vec<Box<RawValue>>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
}

/// Rows per request.
const PAGE: usize = 500;
/// Characters of a cell that are shown.
const CELL: usize = 40;

impl Data {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        match (&self.table, self.change) {
            (None, _) => connection.block_on(self.tables(&connection)),
            (Some(table), Some(change)) => {
                connection.block_on(data_change::run(&connection, table, change, &self.words))
            }
            (Some(table), None) => connection.block_on(self.rows(&connection, table)),
        }
    }

    async fn tables(&self, connection: &Connection) -> Result<(), Failure> {
        let Tables { mut tables } = connection.admin(Method::GET, "tables", None).await?;
        tables.retain(|table| self.system || !table.system);
        if self.json {
            let lines = tables.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            return print(&lines.join("\n"));
        }
        let unknown = || "?".to_owned();
        let head = ["TABLE", "PREFIX", "ROWS", "BYTES"];
        let rows = tables.into_iter().map(|table| {
            let rows = table.rows.map_or_else(unknown, |rows| rows.to_string());
            [table.name, table.prefix, rows, table.bytes.map_or_else(unknown, human)]
        });
        print_rows(head, rows)
    }

    async fn rows(&self, connection: &Connection, table: &str) -> Result<(), Failure> {
        let (mut cursor, mut left) = (self.cursor.clone(), if self.limit == 0 { usize::MAX } else { self.limit });
        let (mut shown, mut columns, mut found) = (Vec::new(), Vec::new(), false);
        loop {
            let page: Page = connection.admin(Method::GET, &self.path(table, cursor.as_deref(), left), None).await?;
            left = left.saturating_sub(page.rows.len());
            found |= !page.rows.is_empty();
            if columns.is_empty() {
                columns = page.columns.into_iter().map(|column| column.name).collect();
            }
            if self.json {
                for row in &page.rows {
                    if !output::line(row.get())? {
                        return Ok(());
                    }
                }
            } else {
                shown.extend(page.rows);
            }
            cursor = page.cursor;
            if left == 0 || cursor.is_none() {
                break;
            }
        }
        match &self.id {
            Some(id) if !found => return Err(Failure(format!("there is no row {id} in {table}"))),
            _ if !self.json => print(&as_columns(&columns, &shown)?)?,
            _ => {}
        }
        if let Some(cursor) = cursor {
            note!("more rows: --cursor {cursor}");
        }
        Ok(())
    }

    fn path(&self, table: &str, cursor: Option<&str>, left: usize) -> String {
        let members = [("cursor", cursor), ("id", self.id.as_deref())];
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("limit", &left.min(PAGE).to_string())
            .append_pair("system", &self.system.to_string())
            .extend_pairs(members.iter().filter_map(|(name, value)| Some((name, (*value)?))))
            .extend_pairs(self.having.iter().map(|condition| ("where", condition)))
            .finish();
        format!("tables/{}?{query}", encoded(table))
    }
}

/// Prints rows under their columns. A column without a value in any of them is omitted.
fn as_columns(columns: &[String], rows: &[Box<RawValue>]) -> Result<String, Failure> {
    let rows: Vec<Map<String, Value>> =
        rows.iter().map(|row| serde_json::from_str(row.get())).collect::<Result<_, _>>()?;
    let all = ["_id".to_owned(), "_creationTime".to_owned()];
    let all = all.iter().chain(columns);
    let filled = |name: &&String| rows.iter().any(|row| row.get(*name).is_some_and(|value| !value.is_null()));
    let names: Vec<&String> = if rows.is_empty() { all.collect() } else { all.filter(filled).collect() };
    let lines: Vec<Vec<String>> = std::iter::once(names.iter().map(|name| (*name).clone()).collect())
        .chain(rows.iter().map(|row| names.iter().map(|name| cell(name, row.get(*name))).collect()))
        .collect();
    Ok(aligned(lines))
}

fn cell(name: &str, value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(time)) if name == "_creationTime" || name.ends_with("At") => {
            time.as_i64().map_or_else(|| time.to_string(), super::table::time)
        }
        Some(value) => value.to_string(),
    };
    // Control characters in stored text must not move the reader's cursor.
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match plain.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_short_and_harmless_and_empty_columns_are_omitted() {
        let row = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let long = "x".repeat(100);
        let rows = [
            row(r#"{"_id":"a_1","_creationTime":0,"name":"A\nB\u001b[2J","age":null,"at":1,"endedAt":1000}"#),
            row(&format!(r#"{{"_id":"a_2","_creationTime":0,"name":"{long}","age":null,"at":2,"endedAt":null}}"#)),
        ];
        let columns = ["name", "age", "at", "endedAt"].map(str::to_owned);
        let text = as_columns(&columns, &rows).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("_id  _creationTime         name"), "{text}");
        assert!(!text.contains("age") && !text.contains('\x1b'));
        assert!(lines[1].ends_with("1970-01-01T00:00:01Z") && lines[2].ends_with('-'), "{text}");
        assert!(lines[2].contains(&format!("{}…", "x".repeat(CELL))));
    }
}
