/// A person as others see it.
#[value]
#[derive(Eq)]
pub struct Person {
    #[value(rename = "_id")]
    pub id: Id<User>,
    pub tags: Option<Vec<String>>,
}

#[value(output)]
struct Found {
    rows: Page<Person>,
}
