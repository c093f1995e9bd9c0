//! Addresses that no webhook connects to: an endpoint must not reach machines inside the network of the server (SSRF).
//!
//! The check runs on the addresses that the connection uses: after the resolution of a name, and on the host of the URL
//! if it is an address. The parser of URLs has converted all spellings of an address (`0x7f.1`, `2130706433`) before. A
//! change of the DNS between the check and the connection has no effect, because the connection takes the checked
//! addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::settings::WebhookSettings;

/// Ranges that are not reachable in the public Internet, by IANA's registries of special-purpose addresses (RFC 6890),
/// with the name of each range.
const SPECIAL: [(&str, &str); 26] = [
    ("0.0.0.0/8", "an unspecified address"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "an address of a carrier's NAT"),
    ("127.0.0.0/8", "a loopback address"),
    ("169.254.0.0/16", "a link-local address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "an address of protocols"),
    ("192.0.2.0/24", "an address for documentation"),
    ("192.88.99.0/24", "an address of 6to4 relays"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "an address for benchmarks"),
    ("198.51.100.0/24", "an address for documentation"),
    ("203.0.113.0/24", "an address for documentation"),
    ("224.0.0.0/4", "a multicast address"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "an unspecified address"),
    ("::1/128", "a loopback address"),
    ("64:ff9b:1::/48", "an address of a local NAT64"),
    ("100::/64", "a discard address"),
    ("2001::/23", "an address of protocols"),
    ("2001:db8::/32", "an address for documentation"),
    ("3fff::/20", "an address for documentation"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a site-local address"),
    ("ff00::/8", "a multicast address"),
];

static RANGES: LazyLock<Vec<(IpNet, &str)>> = LazyLock::new(|| {
    let range = |(range, name): (&str, &'static str)| (range.parse().expect("the ranges are valid"), name);
    SPECIAL.map(range).to_vec()
});

/// The addresses of the public Internet in IPv6.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// An address that no webhook connects to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {name}, which webhooks may not reach; the setting webhooks.allow allows ranges")]
pub struct RefusedAddress {
    /// The address.
    pub address: IpAddr,
    /// Name of its range.
    pub name: &'static str,
}

/// Checks an address.
///
/// # Errors
/// [`RefusedAddress`].
pub fn check(address: IpAddr, settings: &WebhookSettings) -> Result<(), RefusedAddress> {
    let target = embedded_v4(address).map_or(address, IpAddr::V4);
    if settings.allows(address) || settings.allows(target) {
        return Ok(());
    }
    match special(target) {
        None => Ok(()),
        Some(name) => Err(RefusedAddress { address, name }),
    }
}

fn special(address: IpAddr) -> Option<&'static str> {
    let listed = RANGES.iter().find(|(range, _)| range.contains(&address)).map(|(_, name)| *name);
    listed.or_else(|| match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => {
            let (global, prefix) = GLOBAL_V6;
            let is_global = v6.to_bits() >> (128 - prefix) == global.to_bits() >> (128 - prefix);
            (!is_global).then_some("no address of the public Internet")
        }
    })
}

/// Returns the IPv4 address that an IPv6 address leads to: mapped (`::ffff:0:0/96`), compatible (`::/96`), NAT64
/// (`64:ff9b::/96`, RFC 6052) and 6to4 (`2002::/16`, RFC 3056).
fn embedded_v4(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = address else { return None };
    let last = || Ipv4Addr::from_bits(v6.to_bits() as u32);
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(last()),
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => Some(last()),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
        _ => None,
    }
}

/// Resolves names, and returns only addresses that a webhook may reach.
pub(super) struct CheckedResolver(pub(super) Arc<WebhookSettings>);

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let settings = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let reachable = reachable(found, &settings)?;
            Ok(Box::new(reachable.into_iter()) as Addrs)
        })
    }
}

/// Returns the addresses that a webhook may reach.
///
/// # Errors
/// [`RefusedAddress`]: there are addresses, and none of them may be reached.
pub(super) fn reachable(
    addresses: impl IntoIterator<Item = SocketAddr>,
    settings: &WebhookSettings,
) -> Result<Vec<SocketAddr>, RefusedAddress> {
    let (mut reachable, mut refused) = (Vec::new(), None);
    for address in addresses {
        match check(address.ip(), settings) {
            Ok(()) => reachable.push(address),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if reachable.is_empty() => Err(error),
        Some(_) | None => Ok(reachable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(address: &str) -> bool {
        check(address.parse().unwrap(), &WebhookSettings::default()).is_err()
    }

    #[test]
    fn special_addresses_are_refused_in_each_form() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:c0a8:101::",
            "3fff::1",
            "4000::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(is_refused(address), "{address}");
        }
    }

    #[test]
    fn public_addresses_are_reachable_in_each_form() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::",
        ] {
            assert!(!is_refused(address), "{address}");
        }
    }

    #[test]
    fn allowed_range_covers_all_forms_of_its_addresses() {
        let settings: WebhookSettings = toml::from_str(r#"allow = ["127.0.0.0/8"]"#).unwrap();
        let is_refused = |address: &str| check(address.parse().unwrap(), &settings).is_err();
        assert!(!is_refused("127.0.0.1") && !is_refused("::ffff:127.0.0.1") && !is_refused("64:ff9b::7f00:1"));
        assert!(is_refused("::1") && is_refused("10.0.0.1"));
    }

    #[test]
    fn name_with_public_and_private_addresses_leads_to_the_public_ones_only() {
        let settings = WebhookSettings::default();
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 0);
        assert_eq!(reachable([at("10.0.0.1"), at("1.1.1.1")], &settings), Ok(vec![at("1.1.1.1")]));
        let error = reachable([at("127.0.0.1")], &settings).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1") && error.contains("webhooks.allow"), "{error}");
        assert_eq!(reachable([], &settings), Ok(vec![]));
    }
}
