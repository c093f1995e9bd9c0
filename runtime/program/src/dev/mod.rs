//! `dev`: a complete server on this machine, which is replaced when the sources of the program change.
//!
//! Without sources, this process serves. With sources, it watches them and keeps the sockets, and a process of its own
//! serves: the newest build that starts. In reading order: the command line (`command`), one server (`server`), the
//! sources of the program (`sources`), their changes (`changes`), a build (`build`), copies of built programs
//! (`programs`), the messages between both processes (`channel`), a server as a process (`process`), and its replacement
//! (`watched`).

mod build;
mod changes;
mod channel;
mod command;
mod process;
mod programs;
mod server;
mod sources;
mod watched;

pub(super) use command::Dev;
