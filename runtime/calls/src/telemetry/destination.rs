//! The collector, from the settings, the secret and the standard variables.

use std::path::Path;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::settings::{Ratio, TelemetrySettings};
use super::signal::Signal;
use crate::outbound::SecretError;
use crate::outbound::secret;

/// Secret with the headers of each request.
const HEADERS: &str = "OTLP_HEADERS";
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A collector.
pub(super) struct Destination {
    pub(super) client: reqwest::Client,
    base: Url,
    headers: HeaderMap,
    /// Attributes of this process.
    pub(super) resource: Vec<(String, String)>,
    pub(super) settings: TelemetrySettings,
}

impl Destination {
    /// Returns the collector; `None` if neither the settings nor the standard variables name one.
    ///
    /// # Errors
    /// A sentence about the invalid setting or variable.
    pub(super) fn resolve(
        settings: &TelemetrySettings,
        data: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let mut settings = settings.clone();
        let (name, address) = match variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
            Some(address) => ("OTEL_EXPORTER_OTLP_ENDPOINT", address),
            None => match &settings.otlp {
                Some(address) => ("telemetry.otlp", address.clone()),
                None => return Ok(None),
            },
        };
        let base = base(&address).map_err(|error| format!("{name}: {error}"))?;
        if let Some(sampling) = variable("OTEL_TRACES_SAMPLER_ARG") {
            let ratio = sampling.parse::<f64>().map_err(|error| error.to_string()).and_then(Ratio::try_from);
            settings.sampling = ratio.map_err(|error| format!("OTEL_TRACES_SAMPLER_ARG: {error}"))?;
        }
        let headers = match variable("OTEL_EXPORTER_OTLP_HEADERS") {
            Some(text) => headers(&text).map_err(|error| format!("OTEL_EXPORTER_OTLP_HEADERS: {error}"))?,
            None => match secret::read(data, HEADERS) {
                Ok(secret) => headers(secret.expose()).map_err(|error| format!("secret {HEADERS}: {error}"))?,
                Err(SecretError::Missing { .. }) => HeaderMap::new(),
                Err(error) => return Err(error.to_string()),
            },
        };
        let service = variable("OTEL_SERVICE_NAME").or_else(|| settings.service_name.clone());
        let mut resource = vec![
            ("telemetry.sdk.name".to_owned(), "convoke".to_owned()),
            ("telemetry.sdk.language".to_owned(), "rust".to_owned()),
            ("telemetry.sdk.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let given = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        resource.extend(pairs(&given).map_err(|error| format!("OTEL_RESOURCE_ATTRIBUTES: {error}"))?);
        let has_name = resource.iter().any(|(name, _)| name == "service.name");
        if let Some(service) = service.or_else(|| (!has_name).then(program)) {
            resource.retain(|(name, _)| name != "service.name");
            resource.push(("service.name".to_owned(), service));
        }
        let client = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Some(Self { client, base, headers, resource, settings }))
    }

    /// Returns a request to the path of a signal.
    pub(super) fn post(&self, signal: Signal) -> reqwest::RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/v1/{}", self.base.path().trim_end_matches('/'), signal.as_str()));
        self.client.post(url).headers(self.headers.clone()).header("content-type", "application/x-protobuf")
    }

    /// Returns the host and port.
    pub(super) fn address(&self) -> (String, u16) {
        let host = self.base.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        (host, self.base.port_or_known_default().unwrap_or(4318))
    }
}

/// Returns the name of the program.
fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "convoke".to_owned())
}

fn base(address: &str) -> Result<Url, String> {
    const EXAMPLE: &str = "write an address such as http://localhost:4318";
    let url = Url::parse(address).map_err(|error| format!("{address:?} is not an address: {error}; {EXAMPLE}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("{address:?} must begin with http:// or https://; {EXAMPLE}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address must not contain a password; write the header into the secret OTLP_HEADERS".to_owned());
    }
    Ok(url)
}

/// Reads `name=value,name=value` with percent-encoded values.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let each = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    each.map(|pair| {
        // The message omits the values, which may be secrets.
        let (name, value) = pair.split_once('=').ok_or("write `name=value,name=value`")?;
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|error| error.to_string())?;
        Ok((name.trim().to_owned(), value.into_owned()))
    })
    .collect()
}

fn headers(text: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text)? {
        let field = HeaderName::try_from(&*name).map_err(|_| format!("{name:?} is not the name of a header"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of {name:?} has characters that no header can hold"))?;
        value.set_sensitive(true);
        headers.insert(field, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Destination>, String> {
        let settings = TelemetrySettings { otlp: otlp.map(str::to_owned), ..TelemetrySettings::default() };
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        Destination::resolve(&settings, Path::new("/nonexistent"), variable)
    }

    fn attribute<'a>(destination: &'a Destination, name: &str) -> Option<&'a str> {
        destination.resource.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    #[test]
    fn standard_variables_take_precedence() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/base/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%2Cb, x-other = c"),
            ("OTEL_SERVICE_NAME", "shop"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging,service.name=other"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ];
        let found = resolve(Some("http://localhost:4318"), &variables).unwrap().unwrap();
        let request = found.post(Signal::Traces).build().unwrap();
        assert_eq!(request.url().as_str(), "https://collector.example/base/v1/traces");
        assert_eq!(
            (&request.headers()["x-key"], &request.headers()["x-other"]),
            (&"a,b".parse().unwrap(), &"c".parse().unwrap())
        );
        assert_eq!(attribute(&found, "service.name"), Some("shop"));
        assert_eq!(attribute(&found, "deployment.environment.name"), Some("staging"));
        assert_eq!(found.settings.sampling.0, 0.25);
        assert_eq!(found.address(), ("collector.example".to_owned(), 443));
    }

    #[test]
    fn telemetry_is_off_without_an_address_or_by_the_standard_variable() {
        assert!(resolve(None, &[]).unwrap().is_none());
        assert!(resolve(Some("http://localhost:4318"), &[("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
    }

    #[test]
    fn invalid_values_are_named_and_secrets_are_not_shown() {
        for (otlp, variables, expected) in [
            ("localhost:4318", &[][..], "telemetry.otlp: "),
            ("http://user:hunter2@localhost", &[], "OTLP_HEADERS"),
            (
                "http://localhost",
                &[("OTEL_TRACES_SAMPLER_ARG", "2")],
                "OTEL_TRACES_SAMPLER_ARG: must be between 0 and 1",
            ),
            ("http://localhost", &[("OTEL_EXPORTER_OTLP_HEADERS", "hunter2")], "OTEL_EXPORTER_OTLP_HEADERS: write"),
        ] {
            let error = resolve(Some(otlp), variables).err().unwrap();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
