//! The command line of every program with functions.

#[doc(inline)]
pub use convoke_cli::*;

/// Defines the `main` function of a program: its command line, with the version of its crate.
///
/// ```ignore
/// mod books;
///
/// convoke::main!();
/// ```
///
/// `--version` also prints the commit if the variable `CONVOKE_COMMIT` is set at build time.
#[cfg(feature = "sqlite")]
#[macro_export]
macro_rules! main {
    () => {
        fn main() -> ::std::process::ExitCode {
            $crate::cli::main_of($crate::cli::Program {
                version: ::core::env!("CARGO_PKG_VERSION"),
                commit: ::core::option_env!("CONVOKE_COMMIT"),
            })
        }
    };
}

/// Runs the command line of this process. `convoke::main!()` does the same with the version of the program's crate.
#[cfg(feature = "sqlite")]
pub fn main() -> std::process::ExitCode {
    main_of(Program { version: env!("CARGO_PKG_VERSION"), commit: None })
}

/// Runs the command line of this process as this program.
#[cfg(feature = "sqlite")]
pub fn main_of(program: Program) -> std::process::ExitCode {
    main_with(crate::engines(), program)
}
