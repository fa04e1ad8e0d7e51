//! The switcher's BPF program, loaded and attached to a cgroup.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use kirikae_interface::{policy, rule};
use kirikae_policy::{Policy, SCOPES, has_another_cgroup};
use kirikae_table::KernelTable;
use kirikae_vocabulary::Switch;
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{
    ErrorKind, IterOpts, Link, MapCore, MapFlags, MapHandle, MapType, Object, Program, ProgramMut,
    RingBuffer, RingBufferBuilder,
};
use zerocopy::{FromZeros, IntoBytes};

use crate::algorithms::CONNECTIONS;
use crate::error::{Doing, Error};
use crate::event::decode;
use crate::exclusive;
use crate::object;
use crate::path_memory::{self, PathSets};
use crate::program;
use crate::recording::Recorded;
use crate::walks::IteratorFile;

/// The kernel has room for the active policy and the next.
const GENERATIONS: u32 = 2;

/// The loaded program; it does nothing before it is attached.
pub(crate) struct Switcher {
    object: Object,
    generation: u32,
    /// The generation since which the scopes of the policy are the same.
    scopes_since: u32,
    /// The rules as they were written.
    rules: Vec<rule>,
    names: Arc<Mutex<Names>>,
    events: RingBuffer<'static>,
    received: mpsc::Receiver<Switch>,
    /// The channel of what is recorded; None if nothing is.
    recorder: Option<(mpsc::Sender<Recorded>, mpsc::Receiver<Recorded>)>,
}

/// The names of the columns of each scope's table, by the policy's generation and the scope.
type Names = BTreeMap<(u32, u32), Vec<String>>;

/// How many generations of names are kept for events that have not been read yet.
const GENERATIONS_NAMED: u32 = 64;

/// The maps that exist only if calls are recorded.
const RECORDING: [&str; 2] = ["call_in_progress", "recorded_calls"];

impl Switcher {
    /// Loads a program. `shared` is the map in which algorithms that are already registered keep what they
    /// know of connections. `path_sets` tells where the entries of the path memory are.
    pub fn load(
        program: &program::Program,
        policy: &Policy,
        are_calls_recorded: bool,
        shared: Option<&MapHandle>,
        path_sets: &PathSets,
    ) -> Result<Switcher, Error> {
        const DOING: &str = "loading the switcher";
        let doing = || DOING.to_owned();
        let object = object::load(program.object, DOING, |object| {
            for (constant, value) in &program.constants {
                object.set_bytes(constant, value)?;
            }
            object.set("are_calls_recorded", are_calls_recorded)?;
            path_sets.set_in(object)?;
            object.resize(path_memory::SETS, path_sets.count())?;
            if let Some(connections) = shared {
                object.share(CONNECTIONS, connections)?;
            }
            if are_calls_recorded {
                return Ok(());
            }
            object.leave_out(|name| RECORDING.contains(&name))
        })?;
        let (sender, received) = mpsc::channel();
        let names = Arc::new(Mutex::new(Names::new()));
        let mut builder = RingBufferBuilder::new();
        let map = find(&object, "switch_events");
        builder
            .add(&map, {
                let names = Arc::clone(&names);
                move |bytes| {
                    let names = names.lock().unwrap_or_else(PoisonError::into_inner);
                    let named = |generation, scope| names.get(&(generation, scope)).cloned();
                    if let Some(switch) = decode(bytes, named) {
                        // The receiver lives as long as the ring buffer that calls this.
                        let _ = sender.send(switch);
                    }
                    0
                }
            })
            .doing(doing)?;
        let recorder = are_calls_recorded.then(mpsc::channel);
        let calls = are_calls_recorded.then(|| find(&object, "recorded_calls"));
        if let (Some((sender, _)), Some(map)) = (&recorder, &calls) {
            let sender = sender.clone();
            let record = move |bytes: &[u8]| {
                let _ = sender.send(Recorded::Call(bytes.to_vec()));
                0
            };
            builder.add(map, record).doing(doing)?;
        }
        let events = builder.build().doing(doing)?;
        let (generation, scopes_since, rules) = (0, 0, Vec::new());
        let mut switcher =
            Switcher { object, generation, scopes_since, rules, names, events, received, recorder };
        switcher.activate(policy)?;
        Ok(switcher)
    }

    /// Makes a policy the active one, all or nothing: the policy before stays active until the new one is
    /// there as a whole. Returns its generation.
    pub fn activate(&mut self, policy: &Policy) -> Result<u32, Error> {
        self.write(policy, policy.rules(), self.generation.wrapping_add(1))
    }

    /// Writes the active policy once more if cgroups that it names have been created or replaced. Connections
    /// that stay in their scopes keep what is known of them. Returns None if nothing has changed.
    pub fn renew(&mut self, policy: &Policy) -> Result<Option<u32>, Error> {
        let rules = policy.rules();
        let mut both = rules.iter().zip(&self.rules);
        if !both.any(|(now, before)| has_another_cgroup(now, before)) {
            return Ok(None);
        }
        self.write(policy, rules, self.scopes_since).map(Some)
    }

    /// Writes the active policy once more, so that connections look which share their groups hold back. Those that
    /// stay as they are keep what is known of them. Returns its generation.
    pub fn write_again(&mut self, policy: &Policy) -> Result<u32, Error> {
        self.write(policy, policy.rules(), self.scopes_since)
    }

    /// Writes a policy into the room that the policy before the active one had. Nobody reads that any more, because writing
    /// into the map of tables waits in the kernel until nobody uses one of its maps or reads the older
    /// policy.
    fn write(
        &mut self,
        policy: &Policy,
        rules: Vec<rule>,
        scopes_since: u32,
    ) -> Result<u32, Error> {
        let doing = || "putting the policy in force".to_owned();
        let generation = self.generation.wrapping_add(1);
        let place = generation % GENERATIONS;
        let first_table = place * SCOPES as u32;
        let kernel_policy =
            policy.kernel_policy(generation, scopes_since, first_table, &rules).doing(doing)?;
        let update = |map: &str, key: u32, value: &[u8]| {
            find(&self.object, map).update(&key.to_ne_bytes(), value, MapFlags::ANY).doing(doing)
        };
        let tables: BTreeMap<u32, Arc<KernelTable>> =
            (first_table..).zip(policy.tables().into_iter().cloned()).collect();
        for (number, table) in &tables {
            let map = table_map(table).doing(doing)?;
            update("latency_tables", *number, &map.as_fd().as_raw_fd().to_ne_bytes())?;
        }
        self.name_columns(generation, policy);
        if let Some((sender, _)) = &self.recorder {
            // The receiver is kept beside the sender.
            let _ = sender.send(Recorded::Policy { policy: kernel_policy.clone(), tables });
        }
        update("policies", place, kernel_policy.as_bytes())?;
        update("active_generation", 0, &generation.to_ne_bytes())?;
        (self.generation, self.scopes_since, self.rules) = (generation, scopes_since, rules);
        Ok(generation)
    }

    /// Keeps the names of the columns, also those of earlier policies, whose events may not have been read
    /// yet.
    fn name_columns(&self, generation: u32, policy: &Policy) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|(earlier, _), _| generation.wrapping_sub(*earlier) < GENERATIONS_NAMED);
        let scopes = (0..).zip(&policy.scopes);
        names.extend(scopes.map(|(number, scope)| ((generation, number), scope.table.names())));
    }

    /// What was recorded since the last call, if calls are recorded; [`poll`](Switcher::poll) reads it.
    pub fn recorded(&self) -> impl Iterator<Item = Recorded> {
        self.recorder.iter().flat_map(|(_, received)| received.try_iter())
    }

    /// The generation of the active policy.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The generation since which the scopes of the active policy are the same.
    pub fn scopes_since(&self) -> u32 {
        self.scopes_since
    }

    /// Puts a policy in force that no connection is under: with its next callback each restores itself, and none is taken in.
    pub fn leave(&self) -> Result<(), Error> {
        let doing = || "ending the policy".to_owned();
        let generation = self.generation.wrapping_add(1);
        let mut none = policy::new_box_zeroed().map_err(|_| "no memory").doing(doing)?;
        (none.generation, none.scopes_since) = (generation, generation);
        let update = |map: &str, key: u32, value: &[u8]| {
            find(&self.object, map).update(&key.to_ne_bytes(), value, MapFlags::ANY).doing(doing)
        };
        update("policies", generation % GENERATIONS, none.as_bytes())?;
        update("active_generation", 0, &generation.to_ne_bytes())
    }

    /// What takes in the connections that are open in a network namespace, and brings those that are already known under
    /// the active policy.
    pub fn adoption(&self) -> Result<IteratorFile, Error> {
        let doing = || "adopting open connections".to_owned();
        let link = self.program("adopt").attach_iter_with_opts(IterOpts::None);
        IteratorFile::hidden(&mut link.doing(doing)?)
    }

    pub fn map(&self, name: &str) -> Result<MapHandle, Error> {
        MapHandle::try_from(&find(&self.object, name)).doing(|| format!("opening the map {name}"))
    }

    pub fn attach(&self, cgroup: &Path) -> Result<Link, Error> {
        let doing = || format!("attaching the switcher to cgroup {}", cgroup.display());
        let directory = File::open(cgroup).doing(doing)?;
        let program = self.program("switcher");
        let attached = program.attach_cgroup(directory.as_raw_fd());
        let is_refused = |error: &libbpf_rs::Error| error.kind() == ErrorKind::PermissionDenied;
        if attached.as_ref().is_err_and(is_refused) {
            let own = Program::id_from_fd(program.as_fd()).doing(doing)?;
            if let Some(refusal) = exclusive::refusal(cgroup, own) {
                return Err(refusal);
            }
        }
        attached.doing(doing)
    }

    fn program(&self, name: &str) -> ProgramMut<'_> {
        self.object
            .progs_mut()
            .find(|program| program.name() == name)
            .unwrap_or_else(|| panic!("switcher.bpf.c has the program {name}"))
    }

    /// How many instructions the kernel's verifier walked in the program that switches. The verifier gives up
    /// at a million.
    pub fn verified_instructions(&self) -> Result<u32, Error> {
        let doing = || "asking how the switcher was verified".to_owned();
        let id = Program::id_from_fd(self.program("switcher").as_fd()).doing(doing)?;
        let program = ProgInfoIter::default().find(|program| program.id == id);
        Ok(program.map_or(0, |program| program.verified_insns))
    }

    /// Waits up to `timeout` for switches.
    ///
    /// # Errors
    /// Fails if the ring buffer cannot be read.
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

/// Creates a map with one latency table; the map of maps keeps it.
fn table_map(table: &KernelTable) -> libbpf_rs::Result<MapHandle> {
    let bytes = table.as_bytes();
    let options =
        bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as _, ..Default::default() };
    let map = MapHandle::create(
        MapType::Array,
        Some("latency_table"),
        4,
        bytes.len() as u32,
        1,
        &options,
    )?;
    map.update(&0u32.to_ne_bytes(), bytes, MapFlags::ANY)?;
    Ok(map)
}
