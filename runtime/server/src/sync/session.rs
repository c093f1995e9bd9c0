//! The state machine of the protocol: the order of messages and the client's version. It is pure and performs no I/O.

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

/// The effect of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    /// Change the identity. `base_version` is the version of the identity that the client knows.
    Authenticate {
        base_version: u32,
        token: Token,
    },
    /// Subscribe and unsubscribe queries, then send a transition.
    Modify(Vec<Modification>),
    Call(Call),
}

impl Session {
    /// Processes a message.
    ///
    /// # Errors
    /// The violated rule of the protocol. The caller reports it to the client and ends the session.
    pub(super) fn receive(&mut self, message: FromClient) -> Result<Step, String> {
        if self.id.is_none() != matches!(message, FromClient::Connect { .. }) {
            return Err("Connect must be the first message of a connection and must not be repeated".to_owned());
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
                    return Err(format!("Authenticate has base version {base_version}, but the identity is at {at}"));
                }
                Step::Authenticate { base_version, token }
            }
            FromClient::ModifyQuerySet { base_version, new_version, modifications } => {
                let at = self.version.query_set;
                if base_version != at || new_version <= base_version {
                    return Err(format!(
                        "ModifyQuerySet is from {base_version} to {new_version}, but the query set is at {at}"
                    ));
                }
                for modification in &modifications {
                    let is_fit = match modification {
                        Modification::Add { query, .. } => self.queries.insert(*query),
                        Modification::Remove { query } => self.queries.remove(query),
                    };
                    if !is_fit {
                        return Err("A query must be added once, and only an added query can be removed".to_owned());
                    }
                }
                self.version.query_set = new_version;
                Step::Modify(modifications)
            }
        })
    }

    /// Returns the client's session id; `None` before the first message.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the version of the identity.
    pub(super) fn identity(&self) -> u32 {
        self.version.identity
    }

    /// Increments the version of the identity after a change.
    pub(super) fn authenticated(&mut self) {
        self.version.identity += 1;
    }

    /// Writes the transition from the client's last version to the session's version at the commit `ts`.
    pub(super) fn transition(
        &mut self,
        client_version: &mut Version,
        ts: u64,
        told: &[QueryResult],
        removed: &[String],
    ) -> String {
        self.version.ts = self.version.ts.max(ts);
        let results = told.iter().map(result_of);
        let modifications: Vec<String> = removed.iter().cloned().chain(results).collect();
        let from = std::mem::replace(client_version, self.version);
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
    fn connect_is_the_first_message_only() {
        assert!(Session::default().receive(FromClient::Event).is_err());
        let mut session = connected();
        assert_eq!(session.receive(FromClient::Event), Ok(Step::Nothing));
        assert!(session.receive(FromClient::Connect { session_id: "s".to_owned() }).is_err());
    }

    #[test]
    fn message_must_name_the_current_version() {
        let mut session = connected();
        assert!(session.receive(modify(0, 1, vec![add(1)])).is_ok());
        assert!(session.receive(modify(0, 2, vec![])).is_err(), "the query set is at 1");
        assert!(session.receive(modify(1, 1, vec![])).is_err(), "the version must increase");
        assert!(connected().receive(modify(0, 1, vec![add(1), add(1)])).is_err());
        assert!(connected().receive(modify(0, 1, vec![Modification::Remove { query: 1 }])).is_err());
        let token = || Token::None;
        assert!(session.receive(FromClient::Authenticate { base_version: 1, token: token() }).is_err());
        assert!(session.receive(FromClient::Authenticate { base_version: 0, token: token() }).is_ok());
    }

    #[test]
    fn transitions_are_contiguous_and_time_never_decreases() {
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
