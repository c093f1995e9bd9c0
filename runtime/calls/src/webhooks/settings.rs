//! The section `[webhooks]` of the settings.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

convoke_core::section! {
    /// Webhooks that the server sends to the endpoints of other programs.
    pub struct WebhookSettings in "webhooks" {
        /// Address ranges that webhooks may reach although they are private, such as `["10.1.0.0/16"]`. By default the
        /// server refuses loopback, private, link-local and other special addresses, so that no endpoint can name a
        /// machine inside its network.
        #[schemars(example = ["10.1.0.0/16"])]
        pub allow: Vec<AddressRange> = Vec::new(),
        /// Concurrent requests to one endpoint.
        pub requests_per_endpoint_max: u32 = 4,
        /// Endpoints that are served concurrently. Further ones wait.
        pub endpoints_served_max: u32 = 256,
        /// Number of latest deliveries to keep. Older ones are removed, and those that were not delivered yet are lost.
        pub deliveries_max: u64 = 100_000,
        /// Days after which a delivery is removed.
        pub days_max: u32 = 30,
    }
}

impl WebhookSettings {
    /// Returns the retention of a delivery.
    pub(super) fn life(&self) -> Duration {
        Duration::from_secs(u64::from(self.days_max) * 24 * 60 * 60)
    }

    /// Returns true if a range allows this address.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|range| range.0.contains(&address))
    }
}

/// A range of addresses such as `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct AddressRange(IpNet);

impl TryFrom<String> for AddressRange {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let range = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        range.map(Self).map_err(|_| format!("write an address or a range such as \"10.0.0.0/8\" (got {text:?})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_a_prefix_or_one_address() {
        let settings: WebhookSettings = toml::from_str(r#"allow = ["10.1.0.0/16", "::1", "127.0.0.1"]"#).unwrap();
        for (address, allowed) in
            [("10.1.2.3", true), ("10.2.0.0", false), ("::1", true), ("::2", false), ("127.0.0.1", true)]
        {
            assert_eq!(settings.allows(address.parse().unwrap()), allowed, "{address}");
        }
        let error = toml::from_str::<WebhookSettings>(r#"allow = ["10.1"]"#).unwrap_err().to_string();
        assert!(error.contains("10.0.0.0/8"), "{error}");
    }
}
