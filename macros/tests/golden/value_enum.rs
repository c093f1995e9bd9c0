/// Where a meeting stands.
#[value]
pub enum MeetingState {
    /// Not begun.
    Scheduled,
    #[value(rename = "on")]
    Active,
}
