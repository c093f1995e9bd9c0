//! The section `[copy]`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::place::Place;
use convoke_core::at_least::AtLeast;
use convoke_core::sections::Section as _;
use convoke_store::CopyAcknowledgement;

convoke_core::section! {
    /// Continuous copies of the embedded database on another disk or in a bucket. A thread copies the changes each
    /// second, and the whole database each day. `convoke restore --from` restores any copied moment. A copy that cannot
    /// be written does not slow down calls; after 60 seconds it is an error in the log, in /readyz and in `convoke doctor`.
    pub struct CopySettings in "copy" {
        /// Place of the copies: dir:/path of an existing folder, or s3://bucket/prefix. The secrets S3_ACCESS_KEY_ID
        /// and S3_SECRET_ACCESS_KEY are the access to a bucket. Without it, the database is not copied.
        #[schemars(example = "s3://backups/convoke")]
        pub to: Option<String> = None,
        /// URL of the S3-compatible storage. The default is AWS.
        #[schemars(example = "https://s3.example.com")]
        pub endpoint: Option<String> = None,
        /// Region of the storage.
        pub region: String = "us-east-1".to_owned(),
        /// Time between two copies, at least 100ms.
        #[schemars(with = "String")]
        pub every: AtLeast<100> = AtLeast::new(Duration::from_secs(1)),
        /// Time between two snapshots of the whole database, at least 1m.
        #[schemars(with = "String")]
        pub snapshot_every: AtLeast<60_000> = AtLeast::new(Duration::from_secs(86_400)),
        /// Time for which any moment can be restored; older copies are removed. The last 24 hours can be restored to the
        /// second, older moments to the minute.
        #[schemars(with = "String")]
        pub keep: AtLeast<3_600_000> = AtLeast::new(Duration::from_secs(30 * 86_400)),
        /// Time of the response of a mutation: "local" when it is on the local disk; "copied" when the copy has it
        /// too, so that the loss of this machine loses no acknowledged mutation. A mutation that is not copied within
        /// 10 seconds fails with COMMIT_UNKNOWN.
        pub acknowledge: Acknowledge = Acknowledge::Local,
    }
}

/// The time of the response of a mutation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acknowledge {
    /// When it is on the local disk.
    #[default]
    Local,
    /// When the copy has it too.
    Copied,
}

impl CopySettings {
    /// Reads the section from the settings of an installation. An invalid section counts as absent: the check of all
    /// settings reports it.
    pub fn of(settings: &toml::Table) -> Self {
        settings.get(Self::NAME).cloned().and_then(|value| value.try_into().ok()).unwrap_or_default()
    }

    /// Returns the problems of the section that prevent a start.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        match &self.to {
            Some(to) => problems.extend(Place::check(to).err().map(|error| format!("copy.to: {error}"))),
            None if self.acknowledge == Acknowledge::Copied => {
                problems.push("copy.acknowledge = \"copied\" needs copy.to, the place of the copies".to_owned());
            }
            None => {}
        }
        problems
    }

    /// Returns the mode of the page feed, if the database is copied.
    pub fn acknowledgement(&self) -> Option<CopyAcknowledgement> {
        self.to.as_ref().map(|_| match self.acknowledge {
            Acknowledge::Local => CopyAcknowledgement::Local,
            Acknowledge::Copied => CopyAcknowledgement::Copied,
        })
    }
}
