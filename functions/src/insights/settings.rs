//! Settings of the language model for insights.

use std::time::Duration;

use convoke::settings::Section;
use convoke::value;
use schemars::JsonSchema;
use serde::Deserialize;

use super::provider::exchange::{Fallback, TIMEOUT};

/// A service with an OpenAI-compatible API (`[insights]` in `convoke.toml`). Without one, and whenever it fails, the
/// built-in generator creates the insights.
///
/// ```toml
/// [insights]
/// base_url = "https://models.example.org/v1"   # `/chat/completions` is added
/// model = "small-1"
/// fallback = true      # optional: false lets calls fail with the provider
/// timeout_s = 30       # optional: 1 … 30, for each request
/// ```
///
/// The API key is the secret `INSIGHTS_API_KEY`; a service without authentication needs none.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(try_from = "Table")]
#[schemars(into = "Table")]
pub struct InsightProvider {
    model: Option<Model>,
}

/// A configured model.
#[derive(Clone, Debug)]
pub struct Model {
    pub base_url: BaseUrl,
    pub name: ModelName,
    /// Reaction to a failure.
    pub fallback: Fallback,
    /// Timeout of one request.
    pub timeout: Duration,
}

/// Base URL, to which `/chat/completions` is added.
#[value(
    text,
    trim,
    max = 2048,
    pattern = "^https?://[^/]+",
    expected = "an address such as https://models.example.org/v1"
)]
pub struct BaseUrl(String);

/// The name of a model, as its service knows it.
#[value(text, trim, min = 1, max = 200)]
pub struct ModelName(String);

/// Timeout of one request in seconds.
#[value(integer, min = 1, max = 30)]
pub struct TimeoutS(i64);

/// Name of the secret with the API key.
pub const API_KEY: &str = "INSIGHTS_API_KEY";

impl Section for InsightProvider {
    const NAME: &'static str = "insights";
}
convoke::section!(InsightProvider);

/// A language model with an OpenAI-compatible API, whose key is the secret INSIGHTS_API_KEY. Without one, and whenever
/// it fails, the built-in generator creates the insights.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Base URL, to which `/chat/completions` is added.
    #[schemars(example = "https://models.example.org/v1")]
    base_url: Option<BaseUrl>,
    /// Name of the model.
    #[schemars(example = "small-1")]
    model: Option<ModelName>,
    /// True to use the built-in generator if the model fails; the default.
    #[schemars(example = true)]
    fallback: Option<bool>,
    /// Timeout of one request in seconds, 1 to 30; the default is 30.
    #[schemars(example = 30)]
    timeout_s: Option<TimeoutS>,
}

impl TryFrom<Table> for InsightProvider {
    type Error = &'static str;

    fn try_from(table: Table) -> Result<Self, Self::Error> {
        let Table { base_url, model, fallback, timeout_s } = table;
        match (base_url, model) {
            (Some(base_url), Some(name)) => {
                let fallback = if fallback.unwrap_or(true) { Fallback::BuiltIn } else { Fallback::None };
                let timeout = timeout_s.map_or(TIMEOUT, |seconds| Duration::from_secs(seconds.get().unsigned_abs()));
                Ok(Self { model: Some(Model { base_url, name, fallback, timeout }) })
            }
            (None, None) if fallback.is_none() && timeout_s.is_none() => Ok(Self::default()),
            _ => Err("a provider needs both `base_url` and `model`; without a provider leave all of them out"),
        }
    }
}

impl InsightProvider {
    /// Returns the model.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }
}

impl Model {
    /// Returns the URL of requests.
    pub fn url(&self) -> String {
        format!("{}/chat/completions", self.base_url.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_provider_is_configured_whole_or_not_at_all() {
        assert!(from_value::<InsightProvider>(json!({})).unwrap().model().is_none());
        let settings = json!({"base_url": "http://localhost:8080/v1/", "model": "m1"});
        let settings = from_value::<InsightProvider>(settings).unwrap();
        let model = settings.model().unwrap();
        assert_eq!(model.url(), "http://localhost:8080/v1/chat/completions");
        assert_eq!((model.fallback, model.timeout), (Fallback::BuiltIn, TIMEOUT));
        for half in [
            json!({"base_url": "http://localhost"}),
            json!({"model": "m1"}),
            json!({"fallback": false}),
            json!({"base_url": "localhost", "model": "m1"}),
            json!({"base_url": "http://localhost", "model": "m1", "timeout_s": 31}),
            json!({"base_url": "http://localhost", "model": "m1", "api_key": "in the open"}),
        ] {
            assert!(from_value::<InsightProvider>(half.clone()).is_err(), "{half}");
        }
    }
}
