use proptest::prelude::*;

use super::*;

fn allowed(policy: AddressPolicy, text: &str) -> bool {
    policy.allows(text.parse().unwrap())
}

#[test]
fn a_tenant_reaches_public_addresses_only() {
    let refused = [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
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
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "::7f00:1",
    ];
    for text in refused {
        assert!(!allowed(AddressPolicy::PublicOnly, text), "{text}");
    }
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "2606:4700::1111",
        "2a00::1",
        "::ffff:8.8.8.8",
    ];
    for text in public {
        assert!(allowed(AddressPolicy::PublicOnly, text), "{text}");
    }
}

#[test]
fn an_operator_reaches_private_networks_but_never_a_metadata_service() {
    for text in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "100.64.0.1", "::1", "fd12::1", "8.8.8.8"] {
        assert!(allowed(AddressPolicy::AllowPrivate, text), "{text}");
    }
    let never = [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fe80::1",
        "0.0.0.0",
        "224.0.0.1",
        "64:ff9b::7f00:1",
    ];
    for text in never {
        assert!(!allowed(AddressPolicy::AllowPrivate, text), "{text}");
    }
}

#[test]
fn an_address_written_as_a_number_is_seen_through() {
    for text in [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest",
    ] {
        let url = url::Url::parse(text).unwrap();
        assert!(check_literal(&url, AddressPolicy::PublicOnly).is_err(), "{text}");
    }
    let named = url::Url::parse("https://api.example.com/").unwrap();
    assert!(check_literal(&named, AddressPolicy::PublicOnly).is_ok());
}

struct Fixed(Vec<&'static str>);

impl Resolve for Fixed {
    fn resolve(&self, _: Name) -> Resolving {
        let found: Vec<SocketAddr> =
            self.0.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
        Box::pin(async move { Ok(Box::new(found.into_iter()) as Addrs) })
    }
}

async fn resolve(addresses: Vec<&'static str>) -> Result<Vec<String>, String> {
    let resolver = FilteringResolver::new(Arc::new(Fixed(addresses)), AddressPolicy::PublicOnly);
    match resolver.resolve("rebind.example".parse().unwrap()).await {
        Ok(found) => Ok(found.map(|addr| addr.ip().to_string()).collect()),
        Err(error) => Err(if refused(&*error).is_some() { "refused".to_owned() } else { error.to_string() }),
    }
}

#[tokio::test]
async fn a_name_yields_only_its_allowed_addresses() {
    assert_eq!(resolve(vec!["127.0.0.1", "8.8.8.8"]).await, Ok(vec!["8.8.8.8".to_owned()]));
    assert_eq!(resolve(vec!["169.254.169.254"]).await, Err("refused".to_owned()));
    assert_eq!(resolve(vec![]).await, Err("the name has no address".to_owned()));
}

proptest! {
    #[test]
    fn what_a_tenant_may_reach_an_operator_may_reach(bits in any::<u128>(), v4 in any::<u32>()) {
        for address in [IpAddr::from(Ipv6Addr::from(bits)), IpAddr::from(Ipv4Addr::from(v4))] {
            prop_assert!(!AddressPolicy::PublicOnly.allows(address) || AddressPolicy::AllowPrivate.allows(address));
        }
    }

    #[test]
    fn an_address_mapped_into_ipv6_is_judged_like_itself(v4 in any::<u32>()) {
        let v4 = Ipv4Addr::from(v4);
        for policy in [AddressPolicy::PublicOnly, AddressPolicy::AllowPrivate] {
            prop_assert_eq!(policy.allows(v4.into()), policy.allows(v4.to_ipv6_mapped().into()));
        }
    }
}
