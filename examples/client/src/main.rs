//! A Rust client of the application: typed calls over HTTP, and their errors.
//!
//! ```sh
//! cargo run -- codegen rust --out examples/client/src/convoke.rs
//! cargo run -- dev &
//! cargo run --manifest-path examples/client/Cargo.toml -- http://127.0.0.1:3210 "$(cargo run -- token --subject ada --email ada@example.com)"
//! ```
//!
//! The first command writes the module `convoke`.

use std::time::Duration;

mod convoke;

use convoke::{Client, Code, MeetingsLifecycleCreateMeeting, Gender, UsersMutationsSaveOnboarding, InterestsResolveSentInterestInput};

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a command line program prints its output")]
async fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(url), Some(token)) = (args.next(), args.next()) else {
        anyhow::bail!("usage: client URL TOKEN");
    };
    let client = Client::new(url).token(token.trim()).timeout(Duration::from_secs(10));

    // With a key, a retry is safe even if the first call has run.
    let saved = client
        .users()
        .mutations()
        .save_onboarding(&UsersMutationsSaveOnboarding {
            age: 36,
            gender: Gender::PreferNotToSay,
            field: "Mathematics".to_owned(),
            job_title: "Analyst".to_owned(),
            company: "Analytical Engines".to_owned(),
            bio: "I write programs for machines that do not exist yet.".to_owned(),
            interests: vec![InterestsResolveSentInterestInput::new(
                convoke::InterestCategory::Academic,
                "poetical-science",
                "Poetical science",
            )],
            linkedin_url: None,
            idempotency_key: Some("client-example-1".to_owned()),
        })
        .await?;
    println!("onboarded {} with {} interest(s)", saved.user_id, saved.interests_count);

    // Required arguments by position, the others by name.
    let meeting = MeetingsLifecycleCreateMeeting {
        description: Some("From the example.".to_owned()),
        ..MeetingsLifecycleCreateMeeting::new("Notes on the engine")
    };
    let created = client.meetings().lifecycle().create_meeting(&meeting).request_id("client-example-2").await?;
    println!("created {} for {:?}", created.meeting_id, created.video_provider);

    let Err(error) = client.meetings().lifecycle().create_meeting(&MeetingsLifecycleCreateMeeting::new(" ")).await else {
        anyhow::bail!("the server accepted a meeting without a title");
    };
    match error.code() {
        Code::InvalidArgument => println!("rejected {}: {}", error.field().unwrap_or("everything"), error.message()),
        _ => return Err(error.into()),
    }
    Ok(())
}
