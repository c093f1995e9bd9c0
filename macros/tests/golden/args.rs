/// The arguments of a listing.
#[args]
pub struct Listing {
    /// Owner.
    pub user_id: Id<User>,
    pub bio: Option<Bio>,
    #[default(20)]
    pub limit: i64,
    pub r#type: String,
    #[retired]
    pub offset: Option<i64>,
}
