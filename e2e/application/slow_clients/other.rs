//! Another user, who works during the attack.

use std::fmt;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::served::{Served, request};

/// The results of the user.
#[derive(Default)]
pub(crate) struct Other {
    elapsed: Vec<Duration>,
    pub failed: usize,
}

impl Other {
    /// Alternately creates a meeting and lists the user's meetings, each on its own connection, for the duration `lasts`.
    pub(crate) async fn works(served: &Served, lasts: Duration) -> Self {
        let mut other = Self::default();
        let until = Instant::now() + lasts;
        while Instant::now() < until {
            for (function, args) in [
                ("meetings/lifecycle/createMeeting", json!({ "title": "Short" })),
                ("meetings/queries/listUserMeetings", json!({ "limit": 5 })),
            ] {
                let body = json!({ "args": args }).to_string();
                let begun = Instant::now();
                let answer = served.exchange(&request(&format!("/api/run/{function}"), &served.other, &body)).await;
                match answer {
                    Some(answer) if answer.starts_with(br#"{"status":"success""#) => {
                        other.elapsed.push(begun.elapsed())
                    }
                    answer => {
                        other.failed += 1;
                        let answer = answer.map(|answer| String::from_utf8_lossy(&answer).into_owned());
                        eprintln!("after {:?}: {answer:?}", begun.elapsed());
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        other.elapsed.sort();
        other
    }

    fn at(&self, share: usize) -> Duration {
        self.elapsed.get(self.elapsed.len().saturating_sub(1) * share / 100).copied().unwrap_or_default()
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (calls, half, most) = (self.elapsed.len(), self.at(50), self.at(99));
        write!(f, "others: {calls} calls, p50 {half:?}, p99 {most:?}, {} failed", self.failed)
    }
}
