//! The language model that makes insights, if an installation has one.

use std::time::Duration;

use convoke::settings::Section;
use convoke::value;
use schemars::JsonSchema;
use serde::Deserialize;

use super::provider::exchange::{Fallback, TIMEOUT};

/// A service with the interface of OpenAI (`[insights]` in `convoke.toml`). Without one, and wherever it fails, the
/// built-in generator makes the insights.
///
/// ```toml
/// [insights]
/// base_url = "https://models.example.org/v1"   # `/chat/completions` is added
/// model = "small-1"
/// fallback = true      # optional: false lets calls fail with the provider
/// timeout_s = 30       # optional: 1 … 30, for each request
/// ```
///
/// Its key is the secret `INSIGHTS_API_KEY`; a service that asks for none needs none.
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
    /// What happens when it fails.
    pub fallback: Fallback,
    /// How long one request may take.
    pub timeout: Duration,
}

/// The address that `/chat/completions` is added to.
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

/// How long one request may take, in seconds.
#[value(integer, min = 1, max = 30)]
pub struct TimeoutS(i64);

/// The secret that the service knows callers by.
pub const API_KEY: &str = "INSIGHTS_API_KEY";

impl Section for InsightProvider {
    const NAME: &'static str = "insights";
}
convoke::section!(InsightProvider);

/// A language model with the interface of OpenAI, whose key is the secret INSIGHTS_API_KEY. Without one, and wherever
/// it fails, the built-in generator makes the insights.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Where it is asked: `/chat/completions` is added.
    #[schemars(example = "https://models.example.org/v1")]
    base_url: Option<BaseUrl>,
    /// The model's name there.
    #[schemars(example = "small-1")]
    model: Option<ModelName>,
    /// Whether the built-in generator steps in when the model fails; it does by default.
    #[schemars(example = true)]
    fallback: Option<bool>,
    /// How long one request may take, in seconds, 1 to 30; 30 by default.
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
    /// The model.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }
}

impl Model {
    /// Where it is asked.
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
