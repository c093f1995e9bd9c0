/// A wish to meet.
#[table(name = "queueEntries", prefix = "queue")]
#[index(by_user(user_id, status))]
#[index(one_waiting(user_id), unique, when(status = "waiting"))]
#[index(by_use(usage_count desc))]
pub struct QueueEntry {
    pub user_id: Id<User>,
    #[default(Status::Waiting)]
    pub status: Status,
    pub usage_count: i64,
    #[retired]
    pub old: Option<String>,
    pub ended_at: Option<Millis>,
}
