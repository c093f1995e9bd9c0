//! The server and its tools, with the application's functions linked in.

use functions as _;

fn main() -> std::process::ExitCode {
    convoke::cli::main()
}
