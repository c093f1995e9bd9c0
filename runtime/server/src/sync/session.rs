//! What may follow what in a session, and the version that its client is at. Pure: it knows no socket and runs nothing.

use std::collections::BTreeSet;

use super::messages::{Call, FromClient, Modification, Token, Version, result_of, transition};
use convoke_calls::live::QueryResult;

/// A client's session on one connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    id: Option<String>,
    version: Version,
    queries: BTreeSet<u32>,
}

/// What a message asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    /// Become somebody; the version that the message was made at.
    Authenticate {
        base_version: u32,
        token: Token,
    },
    /// Watch these, and stop watching those; a transition follows.
    Modify(Vec<Modification>),
    Call(Call),
}

impl Session {
    /// Takes in a message.
    ///
    /// # Errors
    /// How it violates the protocol: the client is told, and the session is over.
    pub(super) fn receive(&mut self, message: FromClient) -> Result<Step, String> {
        if self.id.is_none() != matches!(message, FromClient::Connect { .. }) {
            return Err("The first message of a connection is Connect, and no other one".to_owned());
        }
        Ok(match message {
            FromClient::Connect { session_id } => {
                self.id = Some(session_id);
                Step::Nothing
            }
            FromClient::Event => Step::Nothing,
            FromClient::Call(call) => Step::Call(call),
            FromClient::Authenticate { base_version, token } => {
                if base_version != self.version.identity {
                    let at = self.version.identity;
                    return Err(format!("Authenticate at version {base_version} of the identity, which is at {at}"));
                }
                Step::Authenticate { base_version, token }
            }
            FromClient::ModifyQuerySet { base_version, new_version, modifications } => {
                let at = self.version.query_set;
                if base_version != at || new_version <= base_version {
                    return Err(format!(
                        "ModifyQuerySet from {base_version} to {new_version}; the query set is at {at}"
                    ));
                }
                for modification in &modifications {
                    let is_fit = match modification {
                        Modification::Add { query, .. } => self.queries.insert(*query),
                        Modification::Remove { query } => self.queries.remove(query),
                    };
                    if !is_fit {
                        return Err("A query is added once, and removed where it was added".to_owned());
                    }
                }
                self.version.query_set = new_version;
                Step::Modify(modifications)
            }
        })
    }

    /// The client's id of the session; none before its first message.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The version of the identity.
    pub(super) fn identity(&self) -> u32 {
        self.version.identity
    }

    /// The identity has changed.
    pub(super) fn authenticated(&mut self) {
        self.version.identity += 1;
    }

    /// Takes the client from the version that it was told last to this session's own, at a commit.
    pub(super) fn transition(
        &mut self,
        told_last: &mut Version,
        ts: u64,
        told: &[QueryResult],
        removed: &[String],
    ) -> String {
        self.version.ts = self.version.ts.max(ts);
        let results = told.iter().map(result_of);
        let modifications: Vec<String> = removed.iter().cloned().chain(results).collect();
        let from = std::mem::replace(told_last, self.version);
        transition(from, self.version, &modifications)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn connected() -> Session {
        let mut session = Session::default();
        session.receive(FromClient::Connect { session_id: "s".to_owned() }).unwrap();
        session
    }

    fn add(query: u32) -> Modification {
        Modification::Add { query, path: "a:b".to_owned(), args: "{}".to_owned(), journal: None }
    }

    fn modify(base_version: u32, new_version: u32, modifications: Vec<Modification>) -> FromClient {
        FromClient::ModifyQuerySet { base_version, new_version, modifications }
    }

    #[test]
    fn the_first_message_is_connect_and_no_other() {
        assert!(Session::default().receive(FromClient::Event).is_err());
        let mut session = connected();
        assert_eq!(session.receive(FromClient::Event), Ok(Step::Nothing));
        assert!(session.receive(FromClient::Connect { session_id: "s".to_owned() }).is_err());
    }

    #[test]
    fn versions_follow_each_other_exactly() {
        let mut session = connected();
        assert!(session.receive(modify(0, 1, vec![add(1)])).is_ok());
        assert!(session.receive(modify(0, 2, vec![])).is_err(), "it is at 1");
        assert!(session.receive(modify(1, 1, vec![])).is_err(), "it does not move");
        assert!(connected().receive(modify(0, 1, vec![add(1), add(1)])).is_err());
        assert!(connected().receive(modify(0, 1, vec![Modification::Remove { query: 1 }])).is_err());
        let token = || Token::None;
        assert!(session.receive(FromClient::Authenticate { base_version: 1, token: token() }).is_err());
        assert!(session.receive(FromClient::Authenticate { base_version: 0, token: token() }).is_ok());
    }

    #[test]
    fn each_transition_begins_where_the_last_one_ended_and_time_never_goes_back() {
        let (mut session, mut last) = (connected(), Version::default());
        session.receive(modify(0, 1, vec![add(1)])).unwrap();
        let mut former = serde_json::json!({ "querySet": 0, "identity": 0, "ts": "AAAAAAAAAAA=" });
        for ts in [5, 3, 9] {
            let sent: Value = serde_json::from_str(&session.transition(&mut last, ts, &[], &[])).unwrap();
            assert_eq!(sent["startVersion"], former);
            former = sent["endVersion"].clone();
            session.authenticated();
        }
        assert_eq!(last.ts, 9);
    }
}
