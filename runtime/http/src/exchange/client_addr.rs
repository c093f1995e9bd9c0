//! The address of a client behind trusted proxies.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::HeaderName;
use ipnet::IpNet;

/// The field in which proxies report the client.
pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The networks of the trusted proxies.
pub(crate) struct Proxies(pub(crate) Vec<IpNet>);

impl Proxies {
    /// The client of a request from the socket `peer`.
    ///
    /// Each proxy appends the address that it forwards for, so the list is read from its end. The first address that is
    /// not a trusted proxy is the client. The client may have written everything to the left of it.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        if !self.trust(client) {
            return client;
        }
        for field in headers.get_all(X_FORWARDED_FOR).iter().rev() {
            let Ok(hops) = field.to_str() else { return client };
            for hop in hops.rsplit(',') {
                let Some(address) = parse_hop(hop.trim()) else { return client };
                client = address;
                if !self.trust(client) {
                    return client;
                }
            }
        }
        client
    }

    /// True if `address` belongs to a trusted proxy.
    pub(crate) fn trust(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// The peer of a socket, with an IPv4-mapped address as IPv4.
pub(crate) fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

/// True if a host, with or without a port, is a loopback name or address.
pub(crate) fn names_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.ends_with(".localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// The address that limits count by. A household or a server has a /64 of IPv6 addresses, so they count as one address.
pub fn counted_as(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

/// An address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse::<IpAddr>().or_else(|_| hop.parse::<SocketAddr>().map(|socket| socket.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn client(peer: &str, forwarded: &[&str]) -> String {
        let proxies = Proxies(vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for field in forwarded {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_str(field).unwrap());
        }
        proxies.client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_may_name_the_client() {
        assert_eq!(client("192.0.2.9", &["203.0.113.7"]), "192.0.2.9");
        assert_eq!(client("10.0.0.1", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn list_is_read_from_its_end_and_entries_of_the_client_are_ignored() {
        assert_eq!(client("10.0.0.1", &["1.1.1.1, 203.0.113.7, 10.2.3.4"]), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &["1.1.1.1", "203.0.113.7:4711", "[2001:db8::1]:80"]), "203.0.113.7");
        assert_eq!(client("10.0.0.1", &["1.1.1.1, nonsense, 10.2.3.4"]), "10.2.3.4");
    }

    #[test]
    fn ipv6_addresses_of_one_64_bit_prefix_count_as_one() {
        let of = |text: &str| counted_as(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2::9"));
        assert_ne!(of("2001:db8:1:2::9"), of("2001:db8:1:3::9"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
