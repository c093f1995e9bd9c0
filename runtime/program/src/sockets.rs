//! Sockets that a server receives from another process, on a channel that is its standard input.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use convoke_http::Listening;

/// Largest number of sockets: for calls, and of the ops listener.
const SOCKETS_MAX: usize = 2;

/// Passes sockets to the other end of a channel, before anything else.
pub(super) fn pass(channel: &UnixStream, listening: &Listening) -> io::Result<()> {
    let sockets = listening.sockets();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    passed.push(SendAncillaryMessage::ScmRights(&sockets));
    // Sockets travel only with at least one byte.
    rustix::net::sendmsg(channel, &[IoSlice::new(b"\n")], &mut passed, SendFlags::empty())?;
    Ok(())
}

/// Receives sockets on standard input. Returns that channel, too.
///
/// # Errors
/// Standard input is no such channel.
pub(super) fn receive() -> io::Result<(UnixStream, Listening)> {
    let channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut sockets = received(&channel)?.into_iter();
    let calls = sockets.next().ok_or_else(|| io::Error::other("no socket was passed"))?;
    Ok((channel, Listening::inherited(calls, sockets.next())))
}

fn received(channel: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(channel, &mut [IoSliceMut::new(&mut byte)], &mut passed, RecvFlags::empty())?;
    let mut sockets = Vec::new();
    for message in passed.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            sockets.extend(received);
        }
    }
    for socket in &sockets {
        rustix::io::fcntl_setfd(socket, FdFlags::CLOEXEC)?;
    }
    Ok(sockets)
}
