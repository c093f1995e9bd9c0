//! `run`: calls a function, in a server or in the data folder.

use std::io::{IsTerminal as _, Read};

use clap_complete::ArgValueCompleter;
use hyper::Method;

use super::connect::{ConnectArgs, Connection};
use super::failure::Failure;
use super::output;
use super::program;
use convoke_server::auth::acting_as::ActingAs;
use convoke_store::Engines;

/// Call a function
///
/// The function runs in the running server of the data folder, in the data folder itself if no server runs, or with
/// --url in a remote server. The value is printed as JSON to standard output, indented on a terminal; log lines go to
/// standard error. Exit code 1 if the call failed. Without --as the caller is the operator, who has the rights of a
/// deploy key.
///
/// --as names a user that the server knows. An unknown user is rejected unless --create is given. In development an
/// unknown user is created and reported, unless the name looks like a misspelled one.
///
///   convoke run users/queries/getCurrentUser '{}' --as ada
///   convoke run users/queries/getCurrentUser @args.json --as ada      arguments from a file
///   jq -n '{}' | convoke run users/queries/getCurrentUser -           arguments from standard input
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Run {
    /// The function, as `convoke functions` lists it
    #[arg(value_name = "PATH", add = ArgValueCompleter::new(super::completions::functions))]
    path: String,
    /// Its arguments: a JSON object, `@FILE` to read them from a file, or `-` for standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    args: String,
    /// The subject of the user to call as
    #[arg(long = "as", value_name = "SUBJECT")]
    subject: Option<String>,
    /// Create the user of --as if the server does not know it
    #[arg(long, requires = "subject")]
    create: bool,
    /// The user's issuer [default: the first configured provider, else the development issuer]
    #[arg(long, value_name = "URL", env = "CONVOKE_AUTH_ISSUER")]
    issuer: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Run {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let args = arguments(&self.args, &mut std::io::stdin().lock())?;
        let connection = self.connect.open(engines)?;
        if self.create && connection.is_remote() {
            return Err(Failure(
                "--create works on the server's machine only: a deploy key cannot create users".to_owned(),
            ));
        }
        let (issuer, create) = (self.issuer.clone(), self.create.then_some(true));
        let user = self.subject.clone().map(|subject| ActingAs { issuer, subject, create });
        connection.block_on(self.call(&connection, &args, user.as_ref()))
    }

    async fn call(&self, connection: &Connection, args: &str, user: Option<&ActingAs>) -> Result<(), Failure> {
        // The text is sent unchanged: the server reports what is wrong with it.
        let body = format!("{{\"args\":{args}}}");
        let path = format!("/api/run/{}", encoded(&self.path.replace(':', "/")));
        let mut response = connection.request_as(Method::POST, &path, Some(body.into()), user).await?;
        let envelope = response.envelope().await?;
        for line in &envelope.log_lines {
            note!("{line}");
        }
        if let (true, Some(user)) = (response.has_created_user, user) {
            note!("{}: created the user {}", program::name(), user.subject);
        }
        let value = envelope.into_value(&response.request_id)?;
        let text = if std::io::stdout().is_terminal() { indented(value.get()) } else { value.get().to_owned() };
        output::line(&text).map(drop)
    }
}

/// Returns the JSON text of the arguments: the word itself, the contents of `@FILE`, or standard input for `-`.
///
/// # Errors
/// The file or the input cannot be read.
fn arguments(word: &str, input: &mut impl Read) -> Result<String, Failure> {
    if word == "-" {
        return std::io::read_to_string(input)
            .map_err(|error| Failure(format!("the arguments cannot be read from standard input: {error}")));
    }
    match word.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| Failure(format!("the arguments cannot be read from {file}: {error}"))),
        None => Ok(word.to_owned()),
    }
}

/// Returns the same JSON with indentation. Numbers and the order of members do not change.
fn indented(json: &str) -> String {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut printer = serde_json::Serializer::pretty(&mut out);
    let mut reader = serde_json::Deserializer::from_str(json);
    match serde_transcode::transcode(&mut reader, &mut printer) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|_| json.to_owned()),
        Err(_) => json.to_owned(),
    }
}

/// Encodes a path with arbitrary characters.
pub(super) fn encoded(path: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(path, KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_from_the_word_a_file_or_standard_input() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"from":"file"}"#).unwrap();
        let at = format!("@{}", file.path().display());
        let read =
            |word: &str| arguments(word, &mut &br#"{"from":"input"}"#[..]).map_err(|failure| failure.to_string());
        assert_eq!(read("{}").as_deref(), Ok("{}"));
        assert_eq!(read(&at).as_deref(), Ok(r#"{"from":"file"}"#));
        assert_eq!(read("-").as_deref(), Ok(r#"{"from":"input"}"#));
        assert!(read("@/nowhere.json").unwrap_err().starts_with("the arguments cannot be read from /nowhere.json: "));
    }

    #[test]
    fn indentation_keeps_numbers_and_the_order_of_members() {
        let json = r#"{"b":9007199254740993,"a":[0.1,{"c":null}],"e":{}}"#;
        let text = indented(json);
        assert!(text.starts_with("{\n  \"b\": 9007199254740993,\n  \"a\": [\n"), "{text}");
        assert_eq!(text.split_whitespace().collect::<String>(), json);
    }
}
