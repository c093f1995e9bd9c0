/// An event.
#[value(tag = "kind", rename_all = "camelCase")]
pub enum Event {
    /// It moved.
    HasMoved {
        /// Target.
        to: String,
        #[default(1)]
        r#steps: i64,
        by: Option<Id<User>>,
        #[retired]
        from: Option<String>,
    },
    #[value(rename = "shut")]
    Closed,
}
