//! The switcher's BPF program, loaded and attached to a cgroup.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use kirikae_algorithms::Timeouts;
use kirikae_table::KernelTable;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, RingBuffer, RingBufferBuilder,
};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::event::{Switch, decode};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/switcher.bpf.o"));

/// How long losses and segments are counted before the rates are updated and a choice is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One smoothed round trip, at least 50 ms.
    RoundTrip,
    /// A fixed time of at least 1 ms; the thesis uses 200 ms.
    Fixed(Duration),
}

impl Period {
    /// As the switcher takes it, microseconds; 0: one round trip.
    pub fn fixed_us(self) -> u32 {
        match self {
            Period::RoundTrip => 0,
            Period::Fixed(period) => {
                u32::try_from(period.as_micros()).unwrap_or(u32::MAX).max(1000)
            }
        }
    }
}

/// The loaded program; it does nothing before it is attached.
pub(crate) struct Switcher {
    object: Object,
    events: RingBuffer<'static>,
    received: mpsc::Receiver<Switch>,
}

impl Switcher {
    pub fn load(
        table: &KernelTable,
        period: Period,
        timeouts: Timeouts,
    ) -> Result<Switcher, Error> {
        let doing = || "loading the switcher".to_owned();
        let mut object = ObjectBuilder::default().open_memory(OBJECT).doing(doing)?;
        for mut map in object.maps_mut() {
            // Its constants are `fixed_period_us` and `kernel_timeouts`.
            if map.name().to_string_lossy().ends_with(".rodata") {
                let constants = map.initial_value_mut().expect(".rodata has a value");
                let kernel_timeouts = u32::from(timeouts == Timeouts::Kernel);
                constants[..4].copy_from_slice(&period.fixed_us().to_ne_bytes());
                constants[4..8].copy_from_slice(&kernel_timeouts.to_ne_bytes());
            }
        }
        let object = object.load().doing(doing)?;
        find(&object, "latency_tables")
            .update(&0u32.to_ne_bytes(), table.as_bytes(), MapFlags::ANY)
            .doing(doing)?;

        let (sender, received) = mpsc::channel();
        let names = table.names();
        let mut builder = RingBufferBuilder::new();
        let map = find(&object, "switch_events");
        builder
            .add(&map, move |bytes| {
                if let Some(switch) = decode(bytes, &names) {
                    // The receiver lives as long as the ring buffer that calls this.
                    let _ = sender.send(switch);
                }
                0
            })
            .doing(doing)?;
        let events = builder.build().doing(doing)?;
        Ok(Switcher { object, events, received })
    }

    pub fn connections(&self) -> Result<MapHandle, Error> {
        MapHandle::try_from(&find(&self.object, CONNECTIONS))
            .doing(|| "opening the map of connections".to_owned())
    }

    pub fn attach(&self, cgroup: &Path) -> Result<Link, Error> {
        let doing = || format!("attaching the switcher to cgroup {}", cgroup.display());
        let directory = File::open(cgroup).doing(doing)?;
        let program = self.object.progs_mut().next().expect("switcher.bpf.c has one program");
        program.attach_cgroup(directory.as_raw_fd()).doing(doing)
    }

    /// Waits up to `timeout` for switches.
    pub fn poll(&self, timeout: Duration) -> Result<Vec<Switch>, Error> {
        match self.events.poll(timeout) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::Interrupted => {
                Err(error).doing(|| "reading switches".to_owned())
            }
            _ => Ok(self.received.try_iter().collect()),
        }
    }

    /// Switches that were made and not reported, because nobody read the events in time.
    pub fn events_lost(&self) -> u64 {
        let value = find(&self.object, "events_lost").lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        match value {
            Ok(Some(bytes)) => u64::from_ne_bytes(bytes.try_into().expect("a u64")),
            _ => 0,
        }
    }
}

fn find<'object>(object: &'object Object, name: &str) -> libbpf_rs::Map<'object> {
    object
        .maps()
        .find(|map| map.name() == name)
        .unwrap_or_else(|| panic!("switcher.bpf.c has the map {name}"))
}
