//! The thread of a network: lets packets in, moves them from link to link, and lets them out in time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::time::Duration;

use kirikae_path::{Direction, Dropped, Ecn, Packet, Time};
use kirikae_vocabulary::{DroppedPacket, Report};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;

use crate::Error;
use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::ecn;
use crate::namespace::MTU;
use crate::segment::Connections;
use crate::system::{self, Rank, go_before_ordinary_threads};
use crate::way::{Fate, Way};

/// Room for the largest packet.
type Buffer = Box<[u8; MTU as usize]>;

/// Number of packets that are read from one device before the others, and packets that are due, get their
/// turn. At about 3 us each, nothing waits for more than 0.1 ms.
const BATCH: usize = 32;

/// The elements of a network's links between its devices.
pub(crate) struct Mover {
    devices: Vec<Device>,
    /// The directions of the links; the index is [`Hop::place`](kirikae_path::Hop::place).
    ways: Vec<Way>,
    routes: Vec<Route>,
    carriers: Vec<Carrier>,
    /// Packets that have left a link and were not yet moved on, with the index of that link's direction.
    left: VecDeque<(Time, usize, Fate)>,
    /// Buffers to use again.
    spare: Vec<Buffer>,
}

/// A host's end of the network.
pub(crate) struct Device {
    file: File,
    /// The routes that begin here, by destination.
    routes: Vec<(Ipv4Addr, usize)>,
    /// The connections seen on the way in.
    connections: Connections,
}

/// The way from a device over the directions of links to a device.
struct Route {
    from: usize,
    to: usize,
    ways: Vec<usize>,
}

/// A packet under way.
pub(crate) struct Parcel {
    buffer: Buffer,
    route: usize,
    /// Number of links of its route that are behind it.
    hop: usize,
}

impl Device {
    pub fn new(file: File) -> Device {
        Device { file, routes: Vec::new(), connections: Connections::default() }
    }

    /// Tells the host that its interface has a carrier, or none.
    pub fn set_carrier(&self, has_carrier: bool) -> nix::Result<()> {
        system::set_tun_carrier(&self.file, has_carrier)
    }

    /// The route of a packet by its destination; None if the destination is no host that is known here.
    fn route(&self, packet: &[u8]) -> Option<usize> {
        let destination = (packet.first()? >> 4 == 4).then_some(packet.get(16..20)?)?;
        let (_, route) = self.routes.iter().find(|(to, _)| to.octets() == *destination)?;
        Some(*route)
    }
}

impl Mover {
    pub fn new(devices: Vec<Device>, ways: Vec<Way>, carriers: Vec<Carrier>) -> Mover {
        let (routes, left, spare) = (Vec::new(), VecDeque::new(), Vec::new());
        Mover { devices, ways, routes, carriers, left, spare }
    }

    /// Routes packets from device `from` to `address`, which is device `to`, over these directions of links.
    pub fn add_route(&mut self, from: usize, address: Ipv4Addr, to: usize, ways: Vec<usize>) {
        assert!(!ways.is_empty() && ways.iter().all(|way| *way < self.ways.len()), "no such route");
        self.devices[from].routes.push((address, self.routes.len()));
        self.routes.push(Route { from, to, ways });
    }

    /// Moves packets until `stop` becomes readable.
    pub fn run(mut self, clock: &Clock, stop: &EventFd) -> Result<Mover, Error> {
        let failed = |doing: &'static str| {
            move |error: io::Error| Error::failed(format!("emulating a network: {doing}"), error)
        };
        // Beside busy processes it makes the difference between packets 0.1 ms late and 3 ms late. If it is
        // not allowed, the report tells whether the links kept their times without it.
        let _ = go_before_ordinary_threads(Rank::Network);
        // By default the kernel may be 50 us late on purpose.
        prctl::set_timerslack(1)
            .map_err(|errno| Error::failed("setting the timer slack", errno))?;
        let mut readable = vec![false; self.devices.len()];
        loop {
            if self.wait(clock, stop, &mut readable).map_err(failed("waiting for packets"))? {
                return Ok(self);
            }
            for (device, _) in readable.iter().enumerate().filter(|(_, readable)| **readable) {
                self.take_in(device, clock).map_err(failed("moving packets"))?;
            }
            let now = clock.now().map_err(failed("reading the clock"))?;
            for carrier in &mut self.carriers {
                let followed = carrier.follow(now, &self.devices);
                followed.map_err(|errno| failed("changing a carrier")(errno.into()))?;
            }
            self.settle(now, clock).map_err(failed("writing packets"))?;
        }
    }

    /// Sleeps until a packet can be read, one is due or it is time to stop. Returns whether it is time to
    /// stop, and sets which devices are readable.
    fn wait(&self, clock: &Clock, stop: &EventFd, readable: &mut [bool]) -> io::Result<bool> {
        let packet = self.first_due().map(|(due, _)| due);
        let carriers = self.carriers.iter().filter_map(Carrier::next);
        let timeout = match carriers.chain(packet).min() {
            Some(due) => Some(TimeSpec::from_duration(Duration::from(clock.until(due)?))),
            None => None,
        };
        let devices = self.devices.iter().map(|device| device.file.as_fd());
        let fds = devices.chain([stop.as_fd()]);
        let mut fds: Vec<PollFd> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        readable.fill(false);
        match ppoll(&mut fds, timeout, None) {
            Ok(_) => {
                let (stopped, devices) = fds.split_last().expect("there is one to stop");
                for (readable, fd) in readable.iter_mut().zip(devices) {
                    *readable = fd.any().unwrap_or(true);
                }
                Ok(stopped.any().unwrap_or(true))
            }
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// When the next packet leaves a link, and the index of that link's direction.
    fn first_due(&self) -> Option<(Time, usize)> {
        let due =
            self.ways.iter().enumerate().filter_map(|(place, way)| Some((way.next()?, place)));
        due.min()
    }

    /// Reads packets until there is none left or others have waited long enough.
    fn take_in(&mut self, device: usize, clock: &Clock) -> io::Result<()> {
        for _ in 0..BATCH {
            let mut buffer = self.spare.pop().unwrap_or_else(|| Box::new([0; MTU as usize]));
            let Device { file, connections, .. } = &mut self.devices[device];
            let length = match file.read(&mut *buffer) {
                Ok(length) => length,
                Err(error) => {
                    self.spare.push(buffer);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => break,
                        io::ErrorKind::Interrupted => continue,
                        _ => return Err(error),
                    }
                }
            };
            connections.note(&buffer[..length]);
            let Some(route) = self.devices[device].route(&buffer[..length]) else {
                self.spare.push(buffer);
                continue;
            };
            let now = clock.now()?;
            self.settle(now, clock)?;
            let ecn = ecn::read(&buffer[..length]);
            let packet = (length as u32, ecn, Parcel { buffer, route, hop: 0 });
            self.enter(now, packet);
            self.move_on(clock)?;
        }
        Ok(())
    }

    /// Lets everything happen that is due until `now`, in order of time over all links. A packet enters the
    /// next link at the time at which it left the one before.
    fn settle(&mut self, now: Time, clock: &Clock) -> io::Result<()> {
        while let Some((due, place)) = self.first_due().filter(|(due, _)| *due <= now) {
            let Mover { ways, left, .. } = self;
            ways[place].advance(due, |at, fate| left.push_back((at, place, fate)));
            self.move_on(clock)?;
        }
        Ok(())
    }

    /// Lets a packet of so many bytes enter the next link of its route.
    fn enter(&mut self, now: Time, (bytes, ecn, parcel): (u32, Ecn, Parcel)) {
        let Mover { ways, left, routes, .. } = self;
        let place = routes[parcel.route].ways[parcel.hop];
        ways[place].enqueue(now, bytes, ecn, parcel, |at, fate| left.push_back((at, place, fate)));
    }

    /// Hands on everything that has left a link.
    fn move_on(&mut self, clock: &Clock) -> io::Result<()> {
        while let Some((at, place, fate)) = self.left.pop_front() {
            match fate {
                Ok(mut packet) => {
                    self.ways[place].delivered += 1;
                    packet.payload.hop += 1;
                    let Parcel { route, hop, .. } = packet.payload;
                    if hop < self.routes[route].ways.len() {
                        self.enter(at, (packet.bytes, packet.ecn, packet.payload));
                    } else {
                        self.write(at, place, packet, clock)?;
                    }
                }
                Err(Dropped { packet, cause }) => {
                    let Parcel { ref buffer, route, .. } = packet.payload;
                    let connections = &self.devices[self.routes[route].from].connections;
                    self.ways[place].drops.push(DroppedPacket {
                        monotonic_ns: clock.monotonic_ns(at),
                        direction: direction(place),
                        number: packet.number,
                        cause,
                        segment: connections.segment(&buffer[..packet.bytes as usize]),
                    });
                    self.spare.push(packet.payload.buffer);
                }
            }
        }
        Ok(())
    }

    /// Writes a packet to the device at the end of its route.
    fn write(
        &mut self,
        at: Time,
        place: usize,
        packet: Packet<Parcel>,
        clock: &Clock,
    ) -> io::Result<()> {
        let Parcel { mut buffer, route, .. } = packet.payload;
        let bytes = &mut buffer[..packet.bytes as usize];
        if packet.ecn == Ecn::Ce && ecn::read(bytes) != Ecn::Ce {
            ecn::mark(bytes);
        }
        self.ways[place].written(clock.now()? - at);
        self.devices[self.routes[route].to].file.write_all(bytes)?;
        self.spare.push(buffer);
        Ok(())
    }

    /// Returns what happened on each link, in their order. `device_drops` are the packets that each device
    /// lost before the first link of the routes that begin there. Of a device whose carrier goes they tell nothing:
    /// what it has no carrier for is among them.
    pub fn report(self, device_drops: &[u64]) -> Vec<Report> {
        let Mover { devices, ways, routes, carriers, .. } = self;
        let mut lost = vec![0; ways.len()];
        for (place, (device, drops)) in devices.iter().zip(device_drops).enumerate() {
            let has_carrier = !carriers.iter().any(|carrier| carrier.device() == place);
            if let Some((_, route)) = device.routes.first().filter(|_| has_carrier) {
                lost[routes[*route].ways[0]] += drops;
            }
        }
        let mut ways = ways.into_iter().zip(lost).map(|(way, lost)| way.report(lost));
        let link = || {
            let (forward, mut drops) = ways.next()?;
            let (backward, dropped) = ways.next().expect("a link has two directions");
            drops.extend(dropped);
            let held = forward.held() && backward.held();
            Some(Report { forward, backward, drops, held })
        };
        std::iter::from_fn(link).collect()
    }
}

/// The direction of an index.
fn direction(place: usize) -> Direction {
    [Direction::Forward, Direction::Backward][place % 2]
}
