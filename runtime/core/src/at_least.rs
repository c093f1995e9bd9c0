//! Durations of settings.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration of a setting, such as `"24h"`, with a least value in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtLeast<const MILLIS: u64>(Duration);

impl<const MILLIS: u64> AtLeast<MILLIS> {
    /// The least duration.
    pub const LEAST: Duration = Duration::from_millis(MILLIS);

    /// Returns a duration; a smaller one becomes the least one. For defaults.
    pub fn new(duration: Duration) -> Self {
        Self(duration.max(Self::LEAST))
    }

    /// Returns the duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl<'de, const MILLIS: u64> Deserialize<'de> for AtLeast<MILLIS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let least = humantime::format_duration(Self::LEAST);
        match humantime::parse_duration(&text) {
            Ok(duration) if duration >= Self::LEAST => Ok(Self(duration)),
            Ok(_) => Err(serde::de::Error::custom(format!("the time must be at least {least} (got {text:?})"))),
            Err(_) => Err(serde::de::Error::custom(format!("must be a time such as \"24h\" (got {text:?})"))),
        }
    }
}

impl<const MILLIS: u64> Serialize for AtLeast<MILLIS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_read_and_written_and_at_least_its_bound() {
        let read =
            |text: &str| serde_json::from_value::<AtLeast<60_000>>(text.into()).map_err(|error| error.to_string());
        assert_eq!(read("24h").unwrap().duration(), Duration::from_secs(86_400));
        assert_eq!(serde_json::to_value(read("90s").unwrap()).unwrap(), "1m 30s");
        assert!(read("5s").unwrap_err().contains("at least 1m (got \"5s\")"));
        assert!(read("often").unwrap_err().contains("must be a time such as"));
        assert_eq!(AtLeast::<60_000>::new(Duration::ZERO).duration(), Duration::from_secs(60));
    }
}
