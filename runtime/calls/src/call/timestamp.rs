//! The number of a commit in the form that clients hold: an opaque text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use convoke_store::Commit;

/// Encodes a commit as base64 of 8 bytes, little-endian.
pub fn write(commit: Commit) -> String {
    STANDARD.encode(commit.0.to_le_bytes())
}

/// Decodes the text of [`write()`].
pub fn read(text: &str) -> Option<Commit> {
    let bytes = <[u8; 8]>::try_from(STANDARD.decode(text).ok()?).ok()?;
    Some(Commit(u64::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_round_trips_and_other_texts_are_rejected() {
        for commit in [Commit(0), Commit(1_767_225_600_000_000_000), Commit(u64::MAX)] {
            assert_eq!(read(&write(commit)), Some(commit));
        }
        assert_eq!(["", "AAAA", "AAAAAAAAAAAAAA==", "x"].map(read), [None; 4]);
    }
}
