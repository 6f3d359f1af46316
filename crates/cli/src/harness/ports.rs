//! Free loopback ports.

use core::hash::{BuildHasher as _, Hasher as _};
use core::net::{Ipv4Addr, SocketAddr};
use std::collections::BTreeSet;
use std::hash::RandomState;
use std::net::TcpListener;
use std::sync::Mutex;

use anyhow::{Result, bail};

/// A loopback address that nothing listens on, given only once to this process.
///
/// It comes from below the range from which the kernel takes the ports of outgoing connections:
/// else such a connection could take it before the child that it is meant for listens.
pub fn free_address() -> Result<SocketAddr> {
    let mut given = match GIVEN.lock() {
        Ok(given) => given,
        Err(poisoned) => poisoned.into_inner(),
    };
    for _ in 0..TRIES_MAX {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, random_port()));
        if !given.contains(&address.port()) && TcpListener::bind(address).is_ok() {
            given.insert(address.port());
            return Ok(address);
        }
    }
    bail!("no free port was found between {PORT_MIN} and {PORT_MAX} in {TRIES_MAX} tries")
}

fn random_port() -> u16 {
    // The seed of the standard hash table is the one source of randomness without a dependency.
    let random = RandomState::new().build_hasher().finish();
    let span = u64::from(PORT_MAX - PORT_MIN);
    PORT_MIN + u16::try_from(random % span).unwrap_or(0)
}

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

const PORT_MIN: u16 = 12_000;
const PORT_MAX: u16 = 32_000;
const TRIES_MAX: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice_and_each_can_be_listened_on() {
        let addresses: Vec<_> = (0..100).map(|_| free_address().unwrap()).collect();
        let different: BTreeSet<_> = addresses.iter().collect();
        assert_eq!(different.len(), addresses.len());
        let listeners: Vec<_> = addresses.iter().map(TcpListener::bind).collect();
        assert!(listeners.iter().all(Result::is_ok));
    }
}
