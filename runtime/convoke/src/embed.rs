//! The runtime inside a program: its command line, or calls in process without a server.
//!
//! ```no_run
//! # use convoke::prelude::*; use convoke::embed::{Runtime, RuntimeOptions, default_engine};
//! let runtime = Runtime::start(RuntimeOptions::in_folder(std::path::Path::new("data"), default_engine()))?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use convoke_store::{EngineFactory, Engines};

pub use convoke_calls::call::dispatch::Request;
pub use convoke_calls::function::{Args, Function, FunctionDef, Kind, Output, Visibility};
pub use convoke_calls::performance::{Bucket, FunctionStats, Performance};
pub use convoke_calls::registry::{Registered, Registry};
pub use convoke_calls::{Background, Runtime, RuntimeOptions, StartError};
pub use convoke_core::clock::{Clock, HeldClock, SystemClock};
pub use convoke_core::limits::Limits;
#[cfg(feature = "postgres")]
pub use convoke_postgres::Postgres;
#[cfg(feature = "cli")]
pub use convoke_program::Program;
#[cfg(feature = "sqlite")]
pub use convoke_sqlite::Sqlite;

/// The engine of a database, unless the settings choose another one.
#[cfg(feature = "sqlite")]
pub fn default_engine() -> Arc<dyn EngineFactory> {
    Arc::new(Sqlite::default())
}

/// The engines of this program: the embedded one, and those of its features.
#[cfg(feature = "sqlite")]
pub fn engines() -> Engines {
    let engines = Engines::embedded("sqlite", default_engine());
    #[cfg(feature = "postgres")]
    let engines = engines.with("postgres", at_postgres).with("postgresql", at_postgres);
    engines
}

#[cfg(feature = "postgres")]
fn at_postgres(address: &str, password: Option<&str>) -> Result<Arc<dyn EngineFactory>, String> {
    match Postgres::at(address, password) {
        Ok(engine) => Ok(Arc::new(engine)),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs the command line of this process. [`convoke::main!`](crate::main) does the same with the version of the
/// program's crate.
#[cfg(all(feature = "cli", feature = "sqlite"))]
pub fn main() -> std::process::ExitCode {
    main_of(Program { version: env!("CARGO_PKG_VERSION"), commit: None })
}

/// Runs the command line of this process as this program.
#[cfg(all(feature = "cli", feature = "sqlite"))]
pub fn main_of(program: Program) -> std::process::ExitCode {
    convoke_program::main_with(engines(), program)
}

/// Defines the `main` function of a program: its command line, with the version of its crate.
///
/// ```ignore
/// mod books;
///
/// convoke::main!();
/// ```
///
/// `--version` also prints the commit if the variable `CONVOKE_COMMIT` is set at build time.
#[cfg(all(feature = "cli", feature = "sqlite"))]
#[macro_export]
macro_rules! main {
    () => {
        fn main() -> ::std::process::ExitCode {
            $crate::embed::main_of($crate::embed::Program {
                version: ::core::env!("CARGO_PKG_VERSION"),
                commit: ::core::option_env!("CONVOKE_COMMIT"),
            })
        }
    };
}
