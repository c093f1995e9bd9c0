//! The tables `[[log_streams]]` of the settings.

use std::path::PathBuf;

use convoke_core::sections::Section;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Streams of JSON lines: completed calls with their log lines, and the events of the runtime. Each stream has either a
/// `file` or a `webhook`. Calls never wait for a stream: lines that its queue cannot hold are lost and counted in
/// `convoke_log_stream_lost_total`.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(transparent)]
pub struct LogStreams(pub Vec<LogStream>);

/// A stream of JSON lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogStream {
    /// File to which lines are appended. A relative path is in the data folder.
    #[schemars(example = &"logs/calls.jsonl")]
    pub file: Option<PathBuf>,
    /// Bytes at which the file is renamed to `….1`, and a new file begins.
    pub file_bytes_max: u64,
    /// Maximum number of files, the current one included. The oldest file is removed.
    pub files_max: u32,
    /// URL that receives batches of lines, signed by Standard Webhooks.
    #[schemars(example = &"https://logs.example.com/convoke")]
    pub webhook: Option<String>,
    /// Name of the secret that signs the batches, such as `CONVOKE_SECRET_LOG_STREAM`: base64 after `whsec_`.
    pub secret: String,
    /// True if completed calls are part of the stream.
    pub calls: bool,
    /// True if the events of the runtime are part of the stream.
    pub events: bool,
}

impl Default for LogStream {
    fn default() -> Self {
        Self {
            file: None,
            file_bytes_max: 64 * 1024 * 1024,
            files_max: 5,
            webhook: None,
            secret: "LOG_STREAM".to_owned(),
            calls: true,
            events: true,
        }
    }
}

impl<'de> Deserialize<'de> for LogStreams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let streams = Vec::<LogStream>::deserialize(deserializer)?;
        for (index, stream) in streams.iter().enumerate() {
            let number = index + 1;
            let problem = match (&stream.file, &stream.webhook) {
                (None, None) => "needs `file` or `webhook`",
                (Some(_), Some(_)) => "has both `file` and `webhook`; write two tables [[log_streams]]",
                _ if stream.files_max == 0 => "files_max must be at least 1",
                _ if !stream.calls && !stream.events => "needs `calls` or `events`; without both, no line is written",
                _ => continue,
            };
            return Err(serde::de::Error::custom(format!("stream {number} {problem}")));
        }
        Ok(Self(streams))
    }
}

impl Section for LogStreams {
    const NAME: &'static str = "log_streams";
}

convoke_core::section!(LogStreams);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LogStreams, String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        table["log_streams"].clone().try_into().map_err(|error: toml::de::Error| error.to_string())
    }

    #[test]
    fn stream_has_one_destination() {
        let streams = read("[[log_streams]]\nfile = 'a'\n[[log_streams]]\nwebhook = 'https://a.example/'").unwrap();
        assert_eq!(streams.0.len(), 2);
        assert!(streams.0[0].calls && streams.0[0].events);
        for (text, expected) in [
            ("[[log_streams]]\ncalls = true", "stream 1 needs `file` or `webhook`"),
            ("[[log_streams]]\nfile = 'a'\nwebhook = 'b'", "stream 1 has both"),
            ("[[log_streams]]\nfile = 'a'\nfiles_max = 0", "files_max must be at least 1"),
            ("[[log_streams]]\nfile = 'a'\ncalls = false\nevents = false", "needs `calls` or `events`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
