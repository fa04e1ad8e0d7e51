//! The destination: a host whose connections are looked at, or a port to which a connection is opened.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use crate::{Connection, Error, route};

/// How long a destination may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A destination, HOST or HOST:PORT; an IPv6 address with a port is in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    host: String,
    port: Option<u16>,
}

/// The address of a destination, and the connections to it.
#[derive(Debug)]
pub struct Seen {
    /// Its address.
    pub address: IpAddr,
    /// Connections to it, the busiest first.
    pub connections: Vec<Connection>,
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Destination, String> {
        let allowed =
            || format!("found {text:?}; allowed: HOST or HOST:PORT, such as 192.0.2.1:443");
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Destination { host: address.ip().to_string(), port: Some(address.port()) });
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Destination { host: address.to_string(), port: None });
        }
        let (host, port) = match text.split_once(':') {
            None => (text, None),
            Some((host, port)) => (host, Some(port.parse().map_err(|_| allowed())?)),
        };
        let letter = |it: char| it.is_ascii_alphanumeric() || "-._".contains(it);
        if host.is_empty() || !host.chars().all(letter) || port == Some(0) {
            return Err(allowed());
        }
        Ok(Destination { host: host.to_owned(), port })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => f.write_str(&self.host),
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
        }
    }
}

impl Destination {
    /// Looks at the connections to it. With a port these are only those to that port, and one that is opened
    /// for it, on which nothing is sent.
    ///
    /// # Errors
    /// Fails if the name has no address, if there is no route to it, or if the port does not answer.
    pub fn look(&self) -> Result<Seen, Error> {
        let refuse = |why: String| Error::Destination { destination: self.to_string(), why };
        let addresses = (self.host.as_str(), self.port.unwrap_or(0)).to_socket_addrs();
        let addresses: Vec<SocketAddr> =
            addresses.map_err(|error| refuse(format!("no address: {error}")))?.collect();
        let first = addresses.first().ok_or_else(|| refuse("no address".into()))?;
        let mut address = first.ip();
        // It stays open until it has been looked at.
        let mut _own = None;
        if self.port.is_some() {
            let connected = connect(&addresses);
            let connected =
                connected.map_err(|error| refuse(format!("does not answer: {error}")))?;
            address = connected.peer_addr().map_or(address, |peer| peer.ip().to_canonical());
            _own = Some(connected);
        }
        if let Some(error) = route::refusal(address) {
            return Err(refuse(format!("there is no route to {address}: {error}")));
        }
        let connections = Connection::to(address, self.port)
            .map_err(|error| refuse(format!("asking the kernel for connections to it: {error}")))?;
        Ok(Seen { address, connections })
    }
}

fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read() {
        for (text, host, port) in [
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:443", "192.0.2.1", Some(443)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]:443", "2001:db8::1", Some(443)),
            ("example.org:80", "example.org", Some(80)),
        ] {
            let destination: Destination = text.parse().unwrap();
            assert_eq!((destination.host.as_str(), destination.port), (host, port));
            assert_eq!(destination.to_string(), text);
        }
        for text in ["", ":80", "host:", "host:0", "host:99999", "a b", "http://host"] {
            assert!(text.parse::<Destination>().unwrap_err().contains("allowed: "), "{text}");
        }
    }
}
