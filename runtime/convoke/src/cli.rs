//! The command line that every program with functions gets.

#[doc(inline)]
pub use convoke_cli::*;

/// Runs the command line of this process, on the engines that it is built with. A program's `main` is `convoke::cli::main()`.
#[cfg(feature = "sqlite")]
pub fn main() -> std::process::ExitCode {
    main_with(crate::engines())
}
