//! A runtime with one function.
//!
//! ```sh
//! cargo run -p examples --bin hello -- dev
//! ```

use std::process::ExitCode;

mod greetings {
    use convoke::prelude::*;
    use convoke::{args, query};

    #[args]
    pub(crate) struct SayHello {
        /// Name to greet.
        pub name: String,
    }

    /// Returns a greeting.
    #[query]
    pub(crate) fn say_hello(_ctx: &QueryCtx, args: SayHello) -> Result<String> {
        info!("greeting {}", args.name);
        Ok(format!("Hello, {}!", args.name))
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
