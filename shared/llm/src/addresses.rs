//! Which addresses a request may reach.
//!
//! A tenant chooses URLs, but we send the requests from inside our own network: names are therefore judged by
//! the addresses they resolve to, at the moment of connecting, so that a name cannot pass a check and then
//! change its mind.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// What may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressPolicy {
    /// Public addresses only: for URLs that tenants give.
    PublicOnly,
    /// Loopback and private networks too: for URLs of the operator, and for a laptop's own user. Metadata
    /// services, link-local, multicast and reserved addresses stay refused.
    AllowPrivate,
}

/// A request would have reached an address that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address {0} is not allowed")]
pub struct AddressRefused(pub String);

#[derive(PartialEq, Eq)]
enum Kind {
    Public,
    Private,
    Never,
}

/// Services that hand out credentials to whoever asks from the same machine.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    // Alibaba Cloud's, inside the carrier-grade NAT range.
    Ipv4Addr::new(100, 100, 100, 200),
];
const METADATA_V6_PREFIX: [u16; 2] = [0xfd00, 0x0ec2];

impl AddressPolicy {
    /// Whether `address` may be reached.
    #[must_use]
    pub fn allows(self, address: IpAddr) -> bool {
        let kind = match address {
            IpAddr::V4(address) => kind_v4(address),
            IpAddr::V6(address) => kind_v6(address),
        };
        match self {
            Self::PublicOnly => kind == Kind::Public,
            Self::AllowPrivate => kind != Kind::Never,
        }
    }
}

fn kind_v4(address: Ipv4Addr) -> Kind {
    if METADATA_V4.contains(&address) {
        return Kind::Never;
    }
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (10, ..) | (127, ..) | (172, 16..=31, _) | (192, 168, _) => Kind::Private,
        // Carrier-grade NAT.
        (100, 64..=127, _) => Kind::Private,
        // "This network", link-local, protocol assignments, documentation, 6to4 relays, benchmarking.
        (0, ..) | (169, 254, _) | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) => Kind::Never,
        (192, 88, 99) | (198, 18..=19, _) => Kind::Never,
        // Multicast, reserved, broadcast.
        (224..=255, ..) => Kind::Never,
        _ => Kind::Public,
    }
}

fn kind_v6(address: Ipv6Addr) -> Kind {
    if let Some(inner) = address.to_ipv4_mapped() {
        return kind_v4(inner);
    }
    if address == Ipv6Addr::LOCALHOST {
        return Kind::Private;
    }
    let s = address.segments();
    if [s[0], s[1]] == METADATA_V6_PREFIX {
        return Kind::Never;
    }
    match (s[0], s[1]) {
        (0xfc00..=0xfdff, _) => Kind::Private,
        // Protocol assignments with Teredo, documentation, 6to4: they reach IPv4 addresses or nothing.
        (0x2001, 0x0000..=0x01ff) | (0x2001, 0x0db8) | (0x2002, _) | (0x3fff, 0x0000..=0x0fff) => Kind::Never,
        (0x2000..=0x3fff, _) => Kind::Public,
        // NAT64 (64:ff9b::), link-local, site-local, multicast, unspecified, and all that is not assigned.
        _ => Kind::Never,
    }
}

/// Refuses a URL whose host is an address that the policy does not allow: such hosts meet no resolver.
pub(crate) fn check_literal(url: &url::Url, policy: AddressPolicy) -> Result<(), AddressRefused> {
    let address = match url.host() {
        Some(url::Host::Ipv4(address)) => IpAddr::V4(address),
        Some(url::Host::Ipv6(address)) => IpAddr::V6(address),
        Some(url::Host::Domain(_)) => return Ok(()),
        None => return Err(AddressRefused("without host".to_owned())),
    };
    if policy.allows(address) { Ok(()) } else { Err(AddressRefused(address.to_string())) }
}

/// The system's resolver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is filled in by the connector.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A resolver that passes on only what the policy allows.
#[derive(Clone)]
pub(crate) struct FilteringResolver {
    inner: Arc<dyn Resolve>,
    policy: AddressPolicy,
}

impl FilteringResolver {
    pub(crate) fn new(inner: Arc<dyn Resolve>, policy: AddressPolicy) -> Self {
        Self { inner, policy }
    }
}

impl Resolve for FilteringResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let found = self.inner.resolve(name);
        let policy = self.policy;
        Box::pin(async move {
            let found: Vec<SocketAddr> = found.await?.collect();
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            let allowed: Vec<SocketAddr> =
                found.into_iter().filter(|addr| policy.allows(addr.ip())).collect();
            if allowed.is_empty() {
                return Err(AddressRefused(host).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Whether `error` was caused by [`AddressRefused`].
pub(crate) fn refused<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a AddressRefused> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(refused) = error.downcast_ref::<AddressRefused>() {
            return Some(refused);
        }
        current = error.source();
    }
    None
}

#[cfg(test)]
mod tests;
