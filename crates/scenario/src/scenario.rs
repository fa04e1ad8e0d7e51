//! A scenario file as a whole.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use kirikae_path::{Direction, PathSpec, Span, Time};
use kirikae_policy::Scope;
use kirikae_settings::Refusal;
use kirikae_settings::quantity::{Long, Quantity};
use kirikae_settings::section::{Binding, Field, Section, Source};
use kirikae_tcp::{Handover, Profile};
use serde::Serialize;

use crate::contender::Contender;
use crate::network::{FlowGroup, Link};
use crate::workload::{Activity, Workload};
use crate::{network, scope, stack, sweep};

/// A scenario file, validated.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// The file that it was read from.
    pub file: PathBuf,
    /// A line that says what it is about.
    pub title: String,
    /// Seed of every random stream: losses, spacing of the bursts, and what applications draw.
    pub seed: u64,
    /// The links; `[path]` is one link.
    pub links: Vec<Link>,
    /// Connections over the links; without `[[flow]]`, one over the path.
    pub flows: Vec<FlowGroup>,
    /// How the hosts' TCP behaves in the simulator; of it the real kernel has the buffers
    /// and the initial window.
    pub stack: Profile,
    /// The contenders, in the order of the table's rows.
    pub contenders: Vec<Contender>,
    /// The settings for the connections that are switched.
    #[serde(serialize_with = "scope::write")]
    pub scope: Scope,
    /// The refusal of a choice by another table than the scope's; None if the scope does not say what may be
    /// chosen.
    #[serde(skip)]
    pub choice: Option<Refusal>,
    /// When a simulation ends at the latest; None if the workloads determine the end.
    pub duration: Option<Span>,
    /// The time in which arrivals are counted; None: the whole time.
    pub measured: Option<Range<Time>>,
    /// How often each contender is simulated, each time with the next seed.
    pub repetitions: u32,
    /// The values of the sweep's names as written, and for tables those of each `name.key`; empty without a
    /// sweep.
    pub swept: BTreeMap<String, String>,
    /// The refusal to play it on the real kernel; None if that can play it.
    #[serde(skip)]
    only_simulated: Option<Refusal>,
    /// The real kernel's net.ipv4.tcp_recovery; None: what the stack says.
    pub tcp_recovery: Option<u32>,
    /// The refusal to simulate it; None if that can be done.
    #[serde(skip)]
    only_real: Option<Refusal>,
}

impl Scenario {
    /// Reads and validates a scenario file: one scenario, or one for each combination of its sweep.
    ///
    /// # Errors
    /// Fails with the first thing that is wrong: its file, line and key, and what is allowed.
    pub fn load(file: &Path) -> Result<Vec<Scenario>, Refusal> {
        Scenario::load_all([file])
    }

    /// Reads and validates the scenarios of several files, each of which has a title of its own.
    ///
    /// # Errors
    /// Fails as [`load`](Scenario::load) does, or if two scenarios have the same title.
    pub fn load_all(
        files: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<Vec<Scenario>, Refusal> {
        const EXAMPLE: &str = "a scenario file, such as scenarios/shallow.toml";
        Scenario::of(files.into_iter().map(|file| Source::read(file.as_ref(), EXAMPLE)))
    }

    /// Parses the scenarios of a text. `file` is its name; files that it names are looked for beside that.
    ///
    /// # Errors
    /// Fails as [`load`](Scenario::load) does.
    pub fn parse(file: &Path, text: String) -> Result<Vec<Scenario>, Refusal> {
        Scenario::of_source(&Source::new(file, text))
    }

    /// Parses the scenarios of a text that is a file, or would be.
    ///
    /// # Errors
    /// Fails as [`load`](Scenario::load) does.
    pub fn of_source(source: &Source) -> Result<Vec<Scenario>, Refusal> {
        Scenario::of([Ok(source)])
    }

    fn of(
        sources: impl IntoIterator<Item = Result<impl Borrow<Source>, Refusal>>,
    ) -> Result<Vec<Scenario>, Refusal> {
        const OWN_TITLE: &str = "a title that no other scenario has; that of a sweep names what tells \
                                 its scenarios apart, such as \"Loss $loss\"";
        let mut scenarios = Vec::new();
        let mut titles = BTreeSet::new();
        for source in sources {
            let source = source?;
            let source = source.borrow();
            let table = source.root()?;
            for bindings in sweep::read(&Section::root(source, &table, &[]))? {
                let root = Section::root(source, &table, &bindings);
                let scenario = Scenario::read(&root, source, &bindings)?;
                if !titles.insert(scenario.title.clone()) {
                    return Err(root.required("title", "")?.refuse(OWN_TITLE));
                }
                scenarios.push(scenario);
            }
        }
        Ok(scenarios)
    }

    fn read(root: &Section, source: &Source, bindings: &[Binding]) -> Result<Scenario, Refusal> {
        root.allow(&[
            "title", "seed", "workload", "path", "link", "flow", "stack", "bench", "scope", "sim",
            "sweep",
        ])?;

        const TITLE: &str = "a line of text that is not empty";
        let title = root.required("title", TITLE)?;
        let text = title.text(TITLE)?;
        if text.trim().is_empty() || text.contains('\n') {
            return Err(title.refuse(TITLE));
        }
        let seed = root.required("seed", "a whole number, such as 1")?.whole(0..=u64::MAX)?;
        let (links, flows) = network::read(root)?;
        let stack = stack::read(root)?;
        if stack.handover != Handover::None && flows.iter().all(|flow| flow.mobile.is_none()) {
            let allowed = "none where no flow has a mobile end";
            return Err(root.refuse_at("stack.handover", "nobody's link changes", allowed));
        }
        let only_simulated =
            stack::only_simulated(root, &stack).or_else(|| network::only_simulated(root, &flows));
        let Bench { contenders, tcp_recovery, only_real } = bench(root)?;
        let (scope, choice) = scope::read(root)?;
        let Sim { duration, measured, repetitions } = sim(root, &flows)?;
        Ok(Scenario {
            file: source.file.clone(),
            title: sweep::title(text, bindings, source),
            seed,
            links,
            flows,
            stack,
            contenders,
            scope,
            choice,
            duration,
            measured,
            repetitions,
            swept: bindings
                .iter()
                .flat_map(|it| it.texts(source))
                .map(|(name, text)| (name, text.to_owned()))
                .collect(),
            only_simulated,
            tcp_recovery,
            only_real,
        })
    }

    /// The path and what is written on it, where the scenario is one flow over one link, the forward way, that
    /// does nothing but write by the clock: then it is compared write by write.
    pub fn timed(&self) -> Option<(&PathSpec, &Workload)> {
        let [group @ FlowGroup { count: 1, forward, backward, activities, .. }] = &self.flows[..]
        else {
            return None;
        };
        let ([link], [there], [back], [activity]) =
            (&self.links[..], &forward[..], &backward[..], &activities[..])
        else {
            return None;
        };
        let is_forward = group.hops(group.sent()).all(|hop| hop.direction == Direction::Forward);
        let is_timed = there == back && is_forward && activity.workload.is_timed();
        is_timed.then_some((&link.path, &activity.workload))
    }

    /// Every connection: its group, and its number in that. The order is the one in which they are played.
    pub fn connections(&self) -> impl Iterator<Item = (&FlowGroup, u32)> {
        let of = |group: &'_ FlowGroup| 0..group.connections();
        self.flows.iter().flat_map(move |group| of(group).map(move |number| (group, number)))
    }

    /// Checks that the real kernel can play it, whichever contender is compared.
    ///
    /// # Errors
    /// Fails with what only the simulator can do.
    pub fn on_real_kernel(&self) -> Result<(), Refusal> {
        self.only_simulated.clone().map_or(Ok(()), Err)
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    /// Fails with what only the real kernel can do.
    pub fn in_simulator(&self) -> Result<(), Refusal> {
        self.only_real.clone().map_or(Ok(()), Err)
    }

    /// The contenders that are compared, and those that groups of flows always play.
    pub fn everyone(&self) -> impl Iterator<Item = Contender> {
        let own = self.flows.iter().filter_map(|group| group.contender);
        self.contenders.iter().copied().chain(own)
    }

    /// The seed of each repetition.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let seed = self.seed;
        (0..self.repetitions).map(move |repetition| seed.wrapping_add(repetition.into()))
    }
}

/// The section `[sim]`: when a simulation ends, how often it is repeated, and what is measured.
struct Sim {
    duration: Option<Span>,
    measured: Option<Range<Time>>,
    repetitions: u32,
}

fn sim(root: &Section, flows: &[FlowGroup]) -> Result<Sim, Refusal> {
    let mut sim = Sim { duration: None, measured: None, repetitions: 1 };
    if let Some(field) = root.optional("sim") {
        const KEYS: [&str; 3] = ["duration", "measured", "repetitions"];
        let section = field.section(&format!("[sim] with {}", KEYS.join(", ")))?;
        section.allow(&KEYS)?;
        sim.duration = section.optional_quantity("duration")?.map(|Long(duration)| duration);
        if let Some(field) = section.optional("measured") {
            sim.measured = Some(measured(&field, sim.duration)?);
        }
        if let Some(field) = section.optional("repetitions") {
            sim.repetitions = field.whole(1..=10_000)? as u32;
        }
    }
    let duration = sim.duration;
    let mut activities = flows.iter().flat_map(|group| &group.activities);
    if duration.is_none() && !activities.all(|activity| activity.workload.is_timed()) {
        let allowed = format!(
            "{}, at which what may go on for ever ends; only bursts and writes go without",
            Long::ALLOWED
        );
        return Err(root.refuse_at("sim.duration", "missing required key", &allowed));
    }
    duration.map_or(Ok(()), |duration| begin_before(root, flows, duration))?;
    Ok(sim)
}

/// Reads in which part of a simulation arrivals are counted.
fn measured(field: &Field, duration: Option<Span>) -> Result<Range<Time>, Refusal> {
    let section =
        field.section(r#"a table with from, to, such as { from = "10 s", to = "15 s" }"#)?;
    section.allow(&["from", "to"])?;
    let time = section.quantity("from")?..section.quantity("to")?;
    if time.start >= time.end || duration.is_none_or(|duration| time.end > Time::ZERO + duration) {
        return Err(field.refuse("a time that is over when the simulation is, at sim.duration"));
    }
    Ok(time)
}

/// Refuses flows and workloads that would begin after the simulation has ended.
fn begin_before(root: &Section, flows: &[FlowGroup], duration: Span) -> Result<(), Refusal> {
    const ALLOWED: &str = "so early that it begins before sim.duration, when all ends";
    let sections = root.optional("flow").map_or(Ok(Vec::new()), |field| field.tables(""))?;
    for (place, group) in flows.iter().enumerate() {
        let section = sections.get(place).unwrap_or(root);
        if group.start >= duration {
            return Err(section.required("start", "")?.refuse(ALLOWED));
        }
        let late = |activity: &Activity| group.start + activity.after >= duration;
        if let Some(place) = group.activities.iter().position(late) {
            let own =
                section.optional("workload").map_or_else(|| root.required("workload", ""), Ok);
            return Err(own?.tables("")?[place].required("after", "")?.refuse(ALLOWED));
        }
    }
    Ok(())
}

/// The section `[bench]`: who is compared, and what is said to the real kernel alone.
struct Bench {
    contenders: Vec<Contender>,
    tcp_recovery: Option<u32>,
    only_real: Option<Refusal>,
}

fn bench(root: &Section) -> Result<Bench, Refusal> {
    let mut bench = Bench { contenders: Contender::usual(), tcp_recovery: None, only_real: None };
    let Some(field) = root.optional("bench") else { return Ok(bench) };
    let section = field.section("[bench] with contenders")?;
    for moved in ["period", "timeouts"] {
        if let Some(field) = section.optional(moved) {
            return Err(field.refuse(format!("this key as scope.{moved}, in [scope]")));
        }
    }
    section.allow(&["contenders", "tcp-recovery"])?;
    if let Some(field) = section.optional("contenders") {
        bench.contenders = contenders(&field)?;
    }
    if let Some(field) = section.optional("tcp-recovery") {
        bench.tcp_recovery = Some(field.whole(0..=7)? as u32);
        bench.only_real = Some(field.refuse(
            "none in the simulator, which has stack.loss-detection and stack.rack-shortcut for it",
        ));
    }
    Ok(bench)
}

fn contenders(field: &Field) -> Result<Vec<Contender>, Refusal> {
    let all = Contender::all();
    let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
    let mut chosen = Vec::new();
    for entry in field.list(&names.join(", "))? {
        let contender = all[entry.choice(&names)?];
        if chosen.contains(&contender) {
            return Err(entry.refuse("each contender once"));
        }
        chosen.push(contender);
    }
    Ok(chosen)
}
