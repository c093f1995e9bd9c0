//! Arguments of subscriptions and measurements.

use convoke::value;

/// The id of a resource to subscribe to: 1 … 128 characters.
///
/// ```json
/// "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt"
/// ```
#[value(text, min = 1, max = 128)]
pub struct ResourceId(String);

/// The kind of a resource: 1 … 64 characters. An unknown kind is well-formed.
///
/// ```json
/// "meetingNotes"
/// ```
#[value(text, min = 1, max = 64)]
pub struct ResourceType(String);

/// A function: its path, with `/` or `:` before its name, or its name alone; 1 … 256 characters.
///
/// ```json
/// "meetings/lifecycle/createMeeting"
/// ```
#[value(text, min = 1, max = 256)]
pub struct FunctionName(String);

/// The interval of one point of a series in milliseconds: one second to one day.
#[value(integer, min = 1_000, max = 86_400_000)]
pub struct BucketSize(i64);

/// Returns one minute.
impl Default for BucketSize {
    fn default() -> Self {
        Self(60_000)
    }
}

/// The length of a series in milliseconds: one second to one week.
#[value(integer, min = 1_000, max = 604_800_000)]
pub struct TimeWindow(i64);

/// Returns one hour.
impl Default for TimeWindow {
    fn default() -> Self {
        Self(3_600_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_covers_a_second_to_a_week() {
        assert!(BucketSize::new(999).is_err() && BucketSize::new(86_400_001).is_err());
        assert!(BucketSize::new(1_000).is_ok() && BucketSize::new(86_400_000).is_ok());
        assert!(TimeWindow::new(999).is_err() && TimeWindow::new(604_800_001).is_err());
        assert!(TimeWindow::new(1_000).is_ok() && TimeWindow::new(604_800_000).is_ok());
        assert_eq!((BucketSize::default().get(), TimeWindow::default().get()), (60_000, 3_600_000));
    }

    #[test]
    fn names_are_bounded() {
        assert!(ResourceId::new("").is_err() && ResourceId::new("x".repeat(129)).is_err());
        assert!(ResourceId::new("x".repeat(128)).is_ok());
        assert!(ResourceType::new("").is_err() && ResourceType::new("x".repeat(65)).is_err());
        assert!(FunctionName::new("notes/index:applyNoteOperation").is_ok());
    }
}
