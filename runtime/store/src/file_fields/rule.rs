//! The rule of a field with files.

/// The contents that a field accepts, and their readers. `#[file(…)]` sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRule {
    /// Largest content in bytes.
    pub bytes_max: u64,
    /// Accepted types, such as `image/png` or `image/*`. Empty: every type.
    pub types: &'static [&'static str],
    /// True if links do not expire and caches may store the content.
    pub is_public: bool,
}

impl FileRule {
    /// Largest content of any field: 5 GiB, the largest object that S3 accepts in one request.
    pub const BYTES_MAX: u64 = 5 * 1024 * 1024 * 1024;

    /// The rule of a field without `#[file(…)]`: 100 MiB of any type, not public.
    pub const DEFAULT: FileRule = FileRule { bytes_max: 100 * 1024 * 1024, types: &[], is_public: false };

    /// Returns true if the rule accepts this type.
    pub fn accepts_type(&self, content_type: &str) -> bool {
        let matches = |accepted: &&str| match accepted.strip_suffix('*') {
            Some(kind) => content_type.starts_with(kind),
            None => *accepted == content_type,
        };
        self.types.is_empty() || self.types.iter().any(matches)
    }

    /// Returns the accepted types as words that follow "must be".
    pub fn accepted(&self) -> String {
        match self.types {
            [one] => (*one).to_owned(),
            types => format!("one of {}", types.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_compared_whole_or_by_its_kind() {
        let rule = |types| FileRule { types, ..FileRule::DEFAULT };
        assert!(rule(&[]).accepts_type("video/mp4"));
        assert!(rule(&["image/png", "image/jpeg"]).accepts_type("image/jpeg"));
        assert!(!rule(&["image/png"]).accepts_type("image/jpeg"));
        assert!(rule(&["image/*"]).accepts_type("image/webp"));
        assert!(!rule(&["image/*"]).accepts_type("text/html"));
    }
}
