//! What the C asks of the world that it runs in (`native_host.h`), of a socket that lives here.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use kirikae_interface::{
    NAME_BYTES, REASON_OUTAGE, REASON_WARM_START, latency_table, name_to_bytes,
};

use super::{PathMemory, Shared, Switch, Switcher};
use crate::c;
use crate::{Algorithm, Socket};

/// A socket during a call of the switcher.
pub(super) struct Host<'a> {
    host: c::host,
    shared: &'a Shared,
    policy: &'a kirikae_interface::policy,
    path: Option<&'a (PathMemory, u64)>,
    socket: *mut Socket,
    room: Room,
    _socket: PhantomData<&'a mut Socket>,
}

/// Latency tables as the C takes them.
#[derive(Default)]
pub(super) struct SharedTables {
    tables: Vec<Arc<latency_table>>,
    pointers: Vec<*const latency_table>,
}

// SAFETY: the pointers are to the tables beside them, which nobody writes.
unsafe impl Send for SharedTables {}
// SAFETY: likewise.
unsafe impl Sync for SharedTables {}

impl SharedTables {
    pub fn new(tables: Vec<Arc<latency_table>>) -> SharedTables {
        let pointers = tables.iter().map(|table| ptr::from_ref(&**table)).collect();
        SharedTables { tables, pointers }
    }

    /// Null where there are none.
    fn as_ptr(&self) -> *const *const latency_table {
        if self.pointers.is_empty() { ptr::null() } else { self.pointers.as_ptr() }
    }
}

/// What [`kk_socket_set_algorithm`] is given.
struct Target<'a> {
    socket: *mut Socket,
    room: *mut Room,
    shared: &'a Shared,
}

/// Room for what is remembered of a connection, until it is remembered.
type Room = Option<Box<c::connection>>;

/// The socket gets the room once the C has used it.
fn hand_over(room: &mut Room, socket: &mut Socket) {
    if room.is_some() && !socket.fields.connection.is_null() {
        socket.connection = room.take();
    }
}

impl<'a> Host<'a> {
    /// The host of a connection; None if the connection is not remembered.
    pub fn of(switcher: &'a Switcher, socket: &'a mut Socket) -> Option<Host<'a>> {
        socket.connection.as_ref()?;
        Some(Host::new(switcher, socket, None))
    }

    /// The host of a connection, with room to remember it if it is not remembered yet.
    pub fn with_room(switcher: &'a Switcher, socket: &'a mut Socket) -> Host<'a> {
        let room = socket.connection.is_none().then(Box::default);
        Host::new(switcher, socket, room)
    }

    fn new(switcher: &'a Switcher, socket: &'a mut Socket, mut room: Room) -> Host<'a> {
        let shared = &*switcher.shared;
        let host = c::host {
            tables: shared.tables.as_ptr(),
            thesis: shared.thesis.as_deref().map_or(ptr::null(), ptr::from_ref),
            match_key: &raw const switcher.match_key,
            room: room.as_deref_mut().map_or(ptr::null_mut(), ptr::from_mut),
            now_ns: socket.fields.tcp_mstamp * 1000,
            lot: lot(socket.fields.random ^ socket.fields.tcp_mstamp),
            in_use: name_to_bytes(socket.algorithm().name()).map(|byte| byte as c_char),
            ..Default::default()
        };
        let (policy, path) = (switcher.policy(), switcher.path.as_ref());
        Host { host, shared, policy, path, socket, room, _socket: PhantomData }
    }

    /// See `happened()` in `bpf/switcher/core/lifecycle.h`.
    pub fn happened(&mut self, call: &c::call) -> u32 {
        let policy = self.policy;
        // SAFETY: in with_pointers().
        let callbacks =
            self.with_pointers(|host, tp| unsafe { c::kk_happened(host, tp, policy, call) });
        // SAFETY: nobody else uses the socket during the call, which is over.
        hand_over(&mut self.room, unsafe { &mut *self.socket });
        callbacks
    }

    /// See `restore_connection()` in `bpf/switcher/core/restore.h`.
    pub fn restore(&mut self, in_recovery_too: bool) -> bool {
        self.with_pointers(|host, tp| unsafe { c::kk_restore(host, tp, in_recovery_too) })
    }

    /// SAFETY of what is called: the C gets a host, a socket, a policy, tables and a path memory that live
    /// through the call, the latter locked; it keeps no pointer to any of them. It calls back kk_socket_set_algorithm() alone,
    /// which uses the same socket, and only then.
    fn with_pointers<T>(&mut self, call: impl FnOnce(&mut c::host, *mut c::tcp_sock) -> T) -> T {
        let (socket, room) = (self.socket, &raw mut self.room);
        let mut target = Target { socket, room, shared: self.shared };
        self.host.socket = (&raw mut target).cast();
        // SAFETY: `self` has the only reference to the socket.
        let fields = unsafe {
            let connection = (*self.socket).connection.as_deref_mut();
            (*self.socket).fields.connection = connection.map_or(ptr::null_mut(), ptr::from_mut);
            &raw mut (*self.socket).fields
        };
        let mut sets = self.path.map(|(memory, _)| memory.sets());
        if let (Some(sets), Some((_, network))) = (&mut sets, self.path) {
            self.host.path_sets = sets.as_mut_ptr();
            self.host.path_sets_count = sets.len() as u32;
            self.host.path_network = *network;
        }
        call(&mut self.host, fields)
    }

    /// The switch that the call was for, if it was for one; `from` was in use before.
    pub fn switch(&self, from: Algorithm) -> Option<Switch> {
        if !self.host.has_switched {
            return None;
        }
        let event = &self.host.event;
        let named = |name: &[u8; NAME_BYTES]| self.shared.algorithm(name);
        let (names, predicted_us) = match &self.shared.thesis {
            Some(table) => (table.names(), &self.host.thesis_predicted_us.by_column[..]),
            None => {
                let number = self.policy.scope[event.scope as usize].table;
                // Without a table nothing is predicted, and a connection may begin warm all the same.
                let table = self.shared.tables.tables.get(number as usize);
                let names = table.map(|table| table.names()).unwrap_or_default();
                (names, &event.predicted_us.by_column[..])
            }
        };
        let usable = names.iter().zip(predicted_us).filter(|(_, us)| **us > 0);
        let predicted =
            usable.filter_map(|(name, us)| Some((named(&name_to_bytes(name))?.name(), *us)));
        let observed = event.is_observed != 0;
        Some(Switch {
            from: if observed { named(&event.from).unwrap_or(from) } else { from },
            to: named(&event.to).expect("the tables name candidates"),
            observed,
            rtt_us: event.measured.rtt_us,
            rate: event.measured.rate,
            burst: event.measured.burst,
            share: event.measured.share,
            isolated_ppb: event.isolated_ppb,
            burst_ppb: event.burst_ppb,
            predicted_us: predicted.collect(),
            start: (event.reason == REASON_WARM_START).then_some(event.start),
            is_outage: event.reason == REASON_OUTAGE,
        })
    }
}

/// A connection's lot, by its own seed, of which nothing is used up (splitmix64's mixing).
fn lot(seed: u64) -> u32 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32) as u32
}

/// The kernel's TCP_CONGESTION, which remembers that it was set. False: there is no such algorithm.
///
/// # Safety
/// `target` is a [`Target`] whose socket and room nobody uses meanwhile; `name` has TCP_CA_NAME_MAX bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn kk_socket_set_algorithm(target: *mut c_void, name: *const c_char) -> bool {
    // SAFETY: promised above.
    let (target, name) = unsafe { (&*target.cast::<Target>(), *name.cast::<[u8; NAME_BYTES]>()) };
    let Some(algorithm) = target.shared.algorithm(&name) else { return false };
    // SAFETY: likewise.
    let (socket, room) = unsafe { (&mut *target.socket, &mut *target.room) };
    // A connection may begin warm as soon as it is remembered, and the algorithm asks how.
    hand_over(room, socket);
    socket.fields.inet_conn.set_icsk_ca_setsockopt(1);
    socket.switch_to(algorithm);
    true
}
