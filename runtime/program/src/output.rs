//! Standard output and standard error of a command. A closed pipe (`| head`) is not a failure; a full disk is.

use std::io::{self, Write as _};

use super::failure::Failure;

/// Prints a line for the reader of a terminal to standard error, like `eprintln!`, which would panic if its reader is gone.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        // A command completes its work without a reader.
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

/// Prints a line. Returns false if the reader has closed the pipe, and needs no more lines.
///
/// # Errors
/// The output cannot be written, such as on a full disk.
pub(crate) fn line(line: &str) -> Result<bool, Failure> {
    is_read(writeln!(io::stdout().lock(), "{line}"))
}

/// Prints a text as it is.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    is_read(out.write_all(text.as_bytes()).and_then(|()| out.flush())).map(drop)
}

fn is_read(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure(format!("the output cannot be written: {error}"))),
    }
}
