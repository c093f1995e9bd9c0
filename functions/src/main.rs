//! The server and its tools, with the application's functions linked in.

use functions as _;

convoke::main!();
