//! Requests to a language model, with retries and fallbacks.
//!
//! This is the only place that defines the order: first with an enforced schema, then with enforced JSON, then the
//! built-in generator. Each request has a timeout of 30 s, and is retried twice if the server is busy, fails or does
//! not respond.

use std::future::Future;
use std::time::{Duration, SystemTime};

use super::super::generator::analysis::GENERATOR;
use super::super::generator::insights::Insights;
use super::super::generator::links::known_links;
use super::answer::{Sources, Unusable, merged, read};
use super::request::{Format, Question, body, parts};
use reading::material::{Material, Person};

/// Timeout of one request.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of retries.
const RETRIES: u32 = 2;
/// Pause before the first retry, which is shortened randomly; it doubles with each retry.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest pause that a server may request, since a caller waits for the insights.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// The connection to the model.
pub trait Endpoint: Sync {
    /// Sends a body to `{base}/chat/completions` with the API key, and waits for the response until the timeout.
    fn post(&self, body: Vec<u8>, timeout: Duration) -> impl Future<Output = Reply> + Send;
    /// Waits.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
    /// Returns a random number in [0, 1).
    fn random(&self) -> f64;
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Answered {
        status: u16,
        /// From the header `Retry-After`, see [`retry_after`].
        retry_after: Option<Duration>,
        body: Vec<u8>,
    },
    /// No response within the timeout.
    TimedOut,
    /// No connection.
    Unreachable,
}

/// Parses the header `Retry-After` (RFC 9110 §10.2.3): seconds, or a date. A past date means immediately.
#[must_use]
pub fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// Reason why there are no insights from the model.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("the insight provider did not answer in time")]
    TimedOut,
    #[error("the insight provider cannot be reached")]
    Unreachable,
    #[error("the insight provider answered with status {0}")]
    Status(u16),
    #[error("the insight provider's answer cannot be used")]
    Unusable(#[from] Unusable),
}

/// Reaction to a failure of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Use the built-in generator.
    BuiltIn,
    /// Fail the call.
    None,
}

/// Insights with their generator.
#[derive(Debug)]
pub struct Generated {
    pub insights: Insights,
    /// `openai/<model>`, or the built-in generator's name.
    pub generator: String,
    /// Why the model did not make them, if it was asked and failed. For the operator's log.
    pub failure: Option<ProviderError>,
}

/// The name under which a model's insights are kept.
#[must_use]
pub fn generator(model: &str) -> String {
    format!("openai/{model}")
}

/// Asks the model for the insights of one reader. A long meeting is asked for part by part. `built_in` are those of the
/// built-in generator, for the case that the model fails.
///
/// # Errors
/// [`ProviderError`] of the last attempt, only without a fallback.
pub async fn generate<E: Endpoint>(
    endpoint: &E,
    model: &str,
    fallback: Fallback,
    material: &Material,
    reader: &Person,
    built_in: Insights,
) -> Result<Generated, ProviderError> {
    let sources = Sources::of(material, known_links(material));
    let asking = Asking { endpoint, model, material, reader, sources };
    match asking.ask().await {
        Ok(insights) => Ok(Generated { insights, generator: generator(model), failure: None }),
        Err(failure) => match fallback {
            Fallback::BuiltIn => {
                Ok(Generated { insights: built_in, generator: GENERATOR.to_owned(), failure: Some(failure) })
            }
            Fallback::None => Err(failure),
        },
    }
}

struct Asking<'a, E> {
    endpoint: &'a E,
    model: &'a str,
    material: &'a Material,
    reader: &'a Person,
    sources: Sources<'a>,
}

impl<E: Endpoint> Asking<'_, E> {
    async fn ask(&self) -> Result<Insights, ProviderError> {
        let parts = parts(self.material);
        let mut answers = Vec::with_capacity(parts.len());
        let mut format = Format::JsonSchema;
        for (index, part) in parts.iter().enumerate() {
            let question = Question {
                model: self.model,
                material: self.material,
                reader: self.reader,
                part,
                number: index + 1,
                of: parts.len(),
            };
            let mut answer = self.answer(&question, format).await;
            if format == Format::JsonSchema && answer.as_ref().is_err_and(form_is_the_cause) {
                // A server that does not know the first form will not learn it for the next part.
                format = Format::JsonObject;
                answer = self.answer(&question, format).await;
            }
            answers.push(answer?);
        }
        Ok(merged(answers))
    }

    async fn answer(&self, question: &Question<'_>, format: Format) -> Result<Insights, ProviderError> {
        let answered = self.persistently(body(question, format)).await?;
        Ok(read(&answered, &self.sources)?)
    }

    /// Sends a body until there is an answer that a repetition would not change.
    async fn persistently(&self, body: Vec<u8>) -> Result<Vec<u8>, ProviderError> {
        let mut attempt = 0;
        loop {
            let (failure, wanted) = match self.endpoint.post(body.clone(), TIMEOUT).await {
                Reply::Answered { status: 200..=299, body, .. } => return Ok(body),
                Reply::Answered { status: status @ (429 | 500..=599), retry_after, .. } => {
                    (ProviderError::Status(status), retry_after)
                }
                Reply::Answered { status, .. } => return Err(ProviderError::Status(status)),
                Reply::TimedOut => (ProviderError::TimedOut, None),
                Reply::Unreachable => return Err(ProviderError::Unreachable),
            };
            let wanted = wanted.unwrap_or_default();
            if attempt == RETRIES || wanted > RETRY_AFTER_MAX {
                return Err(failure);
            }
            // Half of the pause is chance, so that those who failed together do not come back together.
            let pause = (PAUSE * 2_u32.pow(attempt)).mul_f64(0.5 + 0.5 * self.endpoint.random().clamp(0.0, 1.0));
            self.endpoint.pause(wanted.max(pause)).await;
            attempt += 1;
        }
    }
}

/// Returns true if another form of the request may help: the server did not understand this one, or the model ignored it.
fn form_is_the_cause(failure: &ProviderError) -> bool {
    match failure {
        ProviderError::Status(status) => matches!(status, 400 | 422),
        ProviderError::Unusable(_) => true,
        ProviderError::TimedOut | ProviderError::Unreachable => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::super::super::generator::analysis::Analysis;
    use super::super::request::PART_CHARS;
    use super::*;
    use reading::material::Chunk;

    /// Answers from a list, and notes what it was asked and how long it was made to wait.
    struct Scripted {
        replies: Mutex<VecDeque<Reply>>,
        asked: Mutex<Vec<Value>>,
        pauses: Mutex<Vec<Duration>>,
    }

    impl Scripted {
        fn new(replies: Vec<Reply>) -> Scripted {
            Scripted { replies: Mutex::new(replies.into()), asked: Mutex::default(), pauses: Mutex::default() }
        }

        fn formats(&self) -> Vec<String> {
            let asked = self.asked.lock().unwrap();
            asked.iter().map(|body| body["response_format"]["type"].as_str().unwrap().to_owned()).collect()
        }

        fn pauses(&self) -> Vec<Duration> {
            self.pauses.lock().unwrap().clone()
        }
    }

    impl Endpoint for Scripted {
        async fn post(&self, body: Vec<u8>, timeout: Duration) -> Reply {
            assert_eq!(timeout, Duration::from_secs(30));
            self.asked.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            self.replies.lock().unwrap().pop_front().expect("asked more often than the script has answers")
        }

        async fn pause(&self, time: Duration) {
            self.pauses.lock().unwrap().push(time);
        }

        fn random(&self) -> f64 {
            0.5
        }
    }

    fn status(status: u16) -> Reply {
        Reply::Answered { status, retry_after: None, body: b"{}".to_vec() }
    }

    fn busy(seconds: u64) -> Reply {
        Reply::Answered { status: 429, retry_after: Some(Duration::from_secs(seconds)), body: Vec::new() }
    }

    fn good(summary: &str) -> Reply {
        let content = json!({"summary": summary, "actionItems": [], "recommendations": [], "links": []}).to_string();
        let body = json!({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]});
        Reply::Answered { status: 200, retry_after: None, body: body.to_string().into_bytes() }
    }

    fn run(endpoint: &Scripted, fallback: Fallback, notes: &str) -> Result<Generated, ProviderError> {
        let chunk = Chunk { speaker_name: "Ada".into(), text: "I'll write the plan.".into(), ..Chunk::default() };
        let material = Material { chunks: vec![chunk], notes: notes.to_owned(), ..Material::default() };
        let reader = Person { id: "user_1".into(), name: "Ada".into(), ..Person::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let built_in = Analysis::of(&material).insights_for(&reader.id);
        let generated = runtime.block_on(generate(endpoint, "m1", fallback, &material, &reader, built_in));
        assert!(endpoint.replies.lock().unwrap().is_empty(), "an answer of the script was not asked for");
        generated
    }

    #[test]
    fn valid_response_needs_one_request() {
        let endpoint = Scripted::new(vec![good("They planned.")]);
        let generated = run(&endpoint, Fallback::BuiltIn, "").unwrap();
        assert_eq!(generated.insights.summary, "They planned.");
        assert_eq!(generated.generator, "openai/m1");
        assert_eq!(endpoint.formats(), ["json_schema"]);
        assert!(endpoint.pauses().is_empty());
    }

    #[test]
    fn busy_broken_and_silent_servers_get_two_retries() {
        for failing in [status(429), status(500), status(503), Reply::TimedOut] {
            let endpoint = Scripted::new(vec![failing.clone(), failing, good("Late.")]);
            assert_eq!(run(&endpoint, Fallback::None, "").unwrap().insights.summary, "Late.");
            assert_eq!(endpoint.pauses(), [Duration::from_millis(750), Duration::from_millis(1500)]);
        }
    }

    #[test]
    fn after_three_failures_the_built_in_generator_answers() {
        let endpoint = Scripted::new(vec![status(503), Reply::TimedOut, status(502)]);
        let generated = run(&endpoint, Fallback::BuiltIn, "").unwrap();
        assert_eq!(generated.generator, GENERATOR);
        assert_eq!(generated.insights.lines(), ["Ada: write the plan"]);
        assert!(matches!(generated.failure, Some(ProviderError::Status(502))));
        assert_eq!(endpoint.formats(), ["json_schema"; 3], "another form does not help a broken server");
    }

    #[test]
    fn last_failure_is_returned_without_a_fallback() {
        let endpoint = Scripted::new(vec![Reply::TimedOut, Reply::TimedOut, Reply::TimedOut]);
        assert!(matches!(run(&endpoint, Fallback::None, ""), Err(ProviderError::TimedOut)));
        assert!(matches!(run(&Scripted::new(vec![status(401)]), Fallback::None, ""), Err(ProviderError::Status(401))));
        assert!(matches!(
            run(&Scripted::new(vec![Reply::Unreachable]), Fallback::None, ""),
            Err(ProviderError::Unreachable)
        ));
    }

    #[test]
    fn server_without_schema_support_gets_a_plain_json_request() {
        for failing in [status(400), status(422), status(200)] {
            let endpoint = Scripted::new(vec![failing, good("Plain.")]);
            assert_eq!(run(&endpoint, Fallback::None, "").unwrap().insights.summary, "Plain.");
            assert_eq!(endpoint.formats(), ["json_schema", "json_object"]);
        }
        let endpoint = Scripted::new(vec![status(400), status(400)]);
        assert_eq!(run(&endpoint, Fallback::BuiltIn, "").unwrap().generator, GENERATOR);
    }

    #[test]
    fn the_servers_own_wish_for_a_pause_is_honoured_within_reason() {
        let endpoint = Scripted::new(vec![busy(7), busy(0), good("Late.")]);
        assert!(run(&endpoint, Fallback::None, "").is_ok());
        assert_eq!(endpoint.pauses(), [Duration::from_secs(7), Duration::from_millis(1500)]);
        let endpoint = Scripted::new(vec![busy(31)]);
        assert!(matches!(run(&endpoint, Fallback::None, ""), Err(ProviderError::Status(429))));
        assert!(endpoint.pauses().is_empty());
    }

    #[test]
    fn long_meeting_is_sent_in_parts_and_reuses_the_response_format() {
        let notes = "The budget is tight. ".repeat(PART_CHARS * 2 / 21);
        let endpoint = Scripted::new(vec![status(400), good("One."), good("Two."), good("Three.")]);
        assert_eq!(run(&endpoint, Fallback::None, &notes).unwrap().insights.summary, "One. Two. Three.");
        assert_eq!(endpoint.formats(), ["json_schema", "json_object", "json_object", "json_object"]);
    }

    #[test]
    fn a_part_that_fails_fails_the_whole() {
        let notes = "The budget is tight. ".repeat(PART_CHARS * 2 / 21);
        let endpoint = Scripted::new(vec![good("One."), status(403)]);
        let generated = run(&endpoint, Fallback::BuiltIn, &notes).unwrap();
        assert_eq!(generated.generator, GENERATOR);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:48:37 GMT", now), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", now), None);
        assert_eq!(retry_after("-5", now), None);
    }
}
