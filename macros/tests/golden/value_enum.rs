/// The state of a meeting.
#[value]
pub enum MeetingState {
    /// Not begun.
    Scheduled,
    #[value(rename = "on")]
    Active,
}
