//! The collector, from the settings, the secret and the standard variables.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use reqwest::Url;

use super::settings::{Ratio, TelemetrySettings};
use super::signal::Signal;
use crate::outbound::SecretError;
use crate::outbound::address::reason;
use crate::outbound::secret;

/// Secret with the headers of each request.
const HEADERS: &str = "OTLP_HEADERS";
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The collectors of the signals.
pub(super) struct Destination {
    client: reqwest::Client,
    /// The collector of each signal; none if the signal is not sent.
    endpoints: [Option<Endpoint>; 3],
    has_gzip: bool,
    /// Attributes of this process.
    pub(super) resource: Vec<(String, String)>,
    pub(super) settings: TelemetrySettings,
}

/// The collector of a signal.
struct Endpoint {
    url: Url,
    headers: HeaderMap,
}

impl Destination {
    /// Returns the collectors; `None` if neither the settings nor the standard variables name one.
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
        let all = Signal::ALL.map(|signal| address(signal, &settings, &variable));
        if all.iter().all(Option::is_none) {
            return Ok(None);
        }
        let shared_headers = shared_headers(data, &variable)?;
        let mut endpoints = [None, None, None];
        for (signal, address) in Signal::ALL.into_iter().zip(all) {
            let Some(Address { name, text, is_whole }) = address.filter(|_| is_wanted(signal, &settings)) else {
                continue;
            };
            let mut url = url(&text).map_err(|error| format!("{name}: {error}"))?;
            if !is_whole {
                url.set_path(&format!("{}/v1/{}", url.path().trim_end_matches('/'), signal.as_str()));
            }
            let own = format!("OTEL_EXPORTER_OTLP_{}_HEADERS", signal.as_str().to_uppercase());
            let headers = match variable(&own) {
                Some(text) => headers(&text).map_err(|error| format!("{own}: {error}"))?,
                None => shared_headers.clone(),
            };
            endpoints[signal as usize] = Some(Endpoint { url, headers });
        }
        settings.traces = endpoints[Signal::Traces as usize].is_some();
        settings.logs = endpoints[Signal::Logs as usize].is_some();
        settings.metrics = endpoints[Signal::Metrics as usize].is_some();
        if let Some(sampling) = variable("OTEL_TRACES_SAMPLER_ARG") {
            let ratio = sampling.parse::<f64>().map_err(|error| error.to_string()).and_then(Ratio::try_from);
            settings.sampling = ratio.map_err(|error| format!("OTEL_TRACES_SAMPLER_ARG: {error}"))?;
        }
        let has_gzip = match variable("OTEL_EXPORTER_OTLP_COMPRESSION").as_deref() {
            None => settings.gzip,
            Some("gzip") => true,
            Some("none") => false,
            Some(other) => return Err(format!("OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none (got {other:?})")),
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
            .map_err(|error| format!("telemetry: {error}"))?;
        Ok(Some(Self { client, endpoints, has_gzip, resource, settings }))
    }

    /// Returns the body of a request: compressed, if the settings want it.
    pub(super) fn body(&self, encoded: Vec<u8>) -> Bytes {
        if !self.has_gzip {
            return encoded.into();
        }
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        // A vector accepts every write.
        match compressed.write_all(&encoded).and_then(|()| compressed.finish()) {
            Ok(compressed) => compressed.into(),
            Err(_) => Bytes::new(),
        }
    }

    /// Returns a request to the collector of a signal; `None` if the signal is not sent.
    pub(super) fn post(&self, signal: Signal) -> Option<reqwest::RequestBuilder> {
        let Endpoint { url, headers } = self.endpoints[signal as usize].as_ref()?;
        let request = self.client.post(url.clone()).headers(headers.clone());
        let request = request.header("content-type", "application/x-protobuf");
        Some(if self.has_gzip { request.header("content-encoding", "gzip") } else { request })
    }

    /// Returns the host and port of the collector of a signal.
    pub(super) fn address(&self, signal: Signal) -> Option<(String, u16)> {
        let url = &self.endpoints[signal as usize].as_ref()?.url;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Some((host, url.port_or_known_default().unwrap_or(4318)))
    }
}

/// The address of a signal, with the setting or variable that has it.
struct Address {
    name: String,
    text: String,
    /// True if nothing is appended to it.
    is_whole: bool,
}

/// Returns the address of a signal: its own one, or that of all signals. A variable takes precedence over a setting.
fn address(signal: Signal, settings: &TelemetrySettings, variable: impl Fn(&str) -> Option<String>) -> Option<Address> {
    let own = match signal {
        Signal::Traces => &settings.otlp_traces,
        Signal::Logs => &settings.otlp_logs,
        Signal::Metrics => &settings.otlp_metrics,
    };
    let both = |name: String, setting: &str, value: &Option<String>, is_whole: bool| {
        let of_variable = variable(&name).map(|text| Address { name, text, is_whole });
        let of_setting = || value.clone().map(|text| Address { name: format!("telemetry.{setting}"), text, is_whole });
        of_variable.or_else(of_setting)
    };
    let name = signal.as_str();
    both(format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", name.to_uppercase()), &format!("otlp_{name}"), own, true)
        .or_else(|| both("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "otlp", &settings.otlp, false))
}

fn is_wanted(signal: Signal, settings: &TelemetrySettings) -> bool {
    match signal {
        Signal::Traces => settings.traces,
        Signal::Logs => settings.logs,
        Signal::Metrics => settings.metrics,
    }
}

/// Returns the headers of the signals that have no variable of their own.
fn shared_headers(data: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, String> {
    if let Some(text) = variable("OTEL_EXPORTER_OTLP_HEADERS") {
        return headers(&text).map_err(|error| format!("OTEL_EXPORTER_OTLP_HEADERS: {error}"));
    }
    match secret::read(data, HEADERS) {
        Ok(secret) => headers(secret.expose()).map_err(|error| format!("secret {HEADERS}: {error}")),
        Err(SecretError::Missing { .. }) => Ok(HeaderMap::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the name of the program.
fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "convoke".to_owned())
}

fn url(address: &str) -> Result<Url, String> {
    const EXAMPLE: &str = "write an address such as http://localhost:4318";
    let url =
        Url::parse(address).map_err(|error| format!("{address:?} is not an address: {}; {EXAMPLE}", reason(error)))?;
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
        let request = found.post(Signal::Traces).unwrap().build().unwrap();
        assert_eq!(request.url().as_str(), "https://collector.example/base/v1/traces");
        assert_eq!(
            (&request.headers()["x-key"], &request.headers()["x-other"]),
            (&"a,b".parse().unwrap(), &"c".parse().unwrap())
        );
        assert_eq!(attribute(&found, "service.name"), Some("shop"));
        assert_eq!(attribute(&found, "deployment.environment.name"), Some("staging"));
        assert_eq!(found.settings.sampling.0, 0.25);
        assert_eq!(found.address(Signal::Traces), Some(("collector.example".to_owned(), 443)));
    }

    #[test]
    fn address_of_a_signal_is_used_as_written_and_the_others_use_the_shared_one() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "https://logs.example/otlp?token=1"),
            ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "x-logs=1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=2"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ];
        let settings = TelemetrySettings {
            otlp: Some("http://localhost:4318".to_owned()),
            otlp_traces: Some("http://localhost:9999/spans".to_owned()),
            otlp_logs: Some("http://localhost:1/unused".to_owned()),
            metrics: false,
            ..TelemetrySettings::default()
        };
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        let found = Destination::resolve(&settings, Path::new("/nonexistent"), variable).unwrap().unwrap();
        let request = |signal| found.post(signal).map(|request| request.build().unwrap());
        let (traces, logs) = (request(Signal::Traces).unwrap(), request(Signal::Logs).unwrap());
        assert_eq!(traces.url().as_str(), "http://localhost:9999/spans");
        assert_eq!(logs.url().as_str(), "https://logs.example/otlp?token=1");
        assert_eq!(
            (&traces.headers()["x-key"], traces.headers().contains_key("x-logs")),
            (&"2".parse().unwrap(), false)
        );
        assert_eq!((&logs.headers()["x-logs"], logs.headers().contains_key("x-key")), (&"1".parse().unwrap(), false));
        assert_eq!(logs.headers()["content-encoding"], "gzip");
        assert!(request(Signal::Metrics).is_none() && !found.settings.metrics && found.settings.logs);
        let only = [("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://localhost:9090/otlp")];
        let only = resolve(None, &only).unwrap().unwrap();
        assert!(only.post(Signal::Traces).is_none() && only.post(Signal::Metrics).is_some());
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
            (
                "http://localhost",
                &[("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "hunter2")],
                "OTEL_EXPORTER_OTLP_LOGS_HEADERS: write",
            ),
            ("http://localhost", &[("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")], "must be gzip or none (got \"zstd\")"),
            (
                "http://localhost",
                &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "nowhere")],
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ",
            ),
        ] {
            let error = resolve(Some(otlp), variables).err().unwrap();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
