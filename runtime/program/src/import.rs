//! `import`: creates the database from an archive.

use std::fs::File;
use std::path::PathBuf;

use super::failure::Failure;
use super::local::{LocalArgs, require_folder, tables};
use super::output;
use super::progress::Progress;
use convoke_calls::files::FilesSettings;
use convoke_core::counted::counted;
use convoke_server::archive::{is_system, leaves, reader, space};
use convoke_store::offline::{count, everything};
use convoke_store::{DatabaseBuilder, Engines, Installation, OfflineDatabase, TableDef, Value};

/// Create the database of this installation from an archive of `convoke export`
///
/// Every row is checked against the tables of this program, and every part against its checksum. A mistake is reported
/// with its table, line and column, and then nothing has changed: the new database is built beside the existing one,
/// and replaces it only when it is complete. Ids, creation times and scheduled work stay the same.
///
/// The server must be stopped. An installation with rows is rejected without --replace. That flag keeps the former
/// database under a name that is printed, and its deploy keys stay valid.
///
///   convoke import friday.tar.gz --data /var/lib/convoke
///   convoke import friday.tar.gz --replace
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Import {
    /// The archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace a database with rows, which is kept under another name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    local: LocalArgs,
}

impl Import {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        require_folder(&self.local.config()?, self.local.data.as_deref())?;
        let tables = tables()?;
        let file = File::open(&self.file).map_err(Failure::reading(&self.file))?;
        let (config, installation) = self.local.lock(engines)?;
        let former = self.former(&*installation, &tables)?;
        if config.store.is_none() {
            // Rows take about ten times their compressed size.
            let bytes = file.metadata().map_err(Failure::at(&self.file))?.len();
            space::require(&config.data, bytes.saturating_mul(10)).map_err(Failure)?;
        }
        let builder = installation.build(&tables)?;
        if let Some(former) = &former {
            carry_over(&**former, &*builder, &tables)?;
        }
        let progress = Progress::counted("importing", "rows");
        // Contents never change, so those of the former database stay valid.
        let files = FilesSettings::of(&config.sections).local(&config.data);
        let rows = reader::read(file, &tables, &*builder, files.as_ref(), &mut |at| {
            progress.now(format!("importing {}", at.table));
            progress.of(at.done, at.total);
        })?;
        drop(progress);
        let checking = Progress::unmeasured("checking");
        builder.finish(&rows)?;
        drop((checking, former));
        let kept = installation.replace()?;
        let tables = counted(rows.len(), "table");
        let rows = counted(rows.iter().map(|(_, rows)| rows).sum::<u64>(), "row");
        let place = config.store.unwrap_or_else(|| config.data.display().to_string());
        let kept = kept.map_or_else(String::new, |kept| format!("the former database is kept as {}\n", kept.display()));
        output::text(&format!("{place} now has {rows} of {tables}\n{kept}"))
    }

    /// Returns the existing database, if it may be replaced.
    fn former(
        &self,
        installation: &dyn Installation,
        tables: &[&'static TableDef],
    ) -> Result<Option<Box<dyn OfflineDatabase>>, Failure> {
        let database = match installation.database() {
            Ok(database) => database,
            // `--replace` keeps the former database even if it is damaged.
            Err(error) if self.replace => {
                note!("convoke: {error}; its deploy keys, if it has any, become invalid");
                return Ok(None);
            }
            Err(error) => return Err(Failure(format!("{error}; --replace replaces it by the archive"))),
        };
        let Some(database) = database else { return Ok(None) };
        let mut found = Vec::new();
        for table in tables.iter().filter(|table| !is_system(table)) {
            // A table that the database does not have yet has no rows.
            let rows = count(database.reader(), table).unwrap_or(0);
            if rows > 0 {
                found.push((table.name, rows));
            }
        }
        if !found.is_empty() && !self.replace {
            let rows: u64 = found.iter().map(|(_, rows)| rows).sum();
            return Err(Failure(format!(
                "the installation has {rows} rows in {} tables ({} and others), and an import adds no rows to them; \
                 --replace replaces them and keeps the former database under another name",
                found.len(),
                found[0].0
            )));
        }
        Ok(Some(database))
    }
}

/// Copies from the former database what an archive does not include.
fn carry_over(
    former: &dyn OfflineDatabase,
    builder: &dyn DatabaseBuilder,
    tables: &[&'static TableDef],
) -> Result<(), Failure> {
    let schema = former.schema(tables)?;
    for table in tables.iter().filter(|table| !leaves(table)) {
        let added = format!("table {} added", table.name);
        if schema.pending.contains(&added) {
            continue;
        }
        former.reader().select(&everything(table), &mut |row| {
            let value = |place| row.value(place).map(convoke_store::ValueRef::to_value);
            let values = (0..table.fields.len()).map(value).collect::<Result<Vec<Value>, _>>()?;
            builder.insert(table, row.id()?, row.creation_time()?, &values)?;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
    }
    Ok(())
}
