//! What subscriptions and measurements are asked by.

use convoke::value;

/// The resource that somebody follows, by its id: 1 … 128 characters.
///
/// ```json
/// "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt"
/// ```
#[value(text, min = 1, max = 128)]
pub struct ResourceId(String);

/// The kind of a resource: 1 … 64 characters. Unknown ones are no mistake of form.
///
/// ```json
/// "meetingNotes"
/// ```
#[value(text, min = 1, max = 64)]
pub struct ResourceType(String);

/// A function by its path, with `/` or `:` before its name, or by its name alone: 1 … 256 characters.
///
/// ```json
/// "meetings/lifecycle/createMeeting"
/// ```
#[value(text, min = 1, max = 256)]
pub struct FunctionName(String);

/// How much time one point of a series covers, in milliseconds: a second to a day.
#[value(integer, min = 1_000, max = 86_400_000)]
pub struct BucketSize(i64);

/// A minute.
impl Default for BucketSize {
    fn default() -> Self {
        Self(60_000)
    }
}

/// How far a series goes back, in milliseconds: a second to a week.
#[value(integer, min = 1_000, max = 604_800_000)]
pub struct TimeWindow(i64);

/// An hour.
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
