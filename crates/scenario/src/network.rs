//! Reads `[path]`, or `[[link]]` and `[[flow]]`: the connections, and the links that they take.
//! docs/scenarios.md tells what each key means.

use std::collections::BTreeSet;
use std::ops::Range;

use kirikae_path::{
    Direction, DirectionSpec, ElementSpec, PathSpec, Span, Time, UsedLink, propagation,
    sustained_rate,
};
use kirikae_settings::Refusal;
use kirikae_settings::section::{Field, Section};
use kirikae_sim::{End, Hop, Mobile};
use serde::Serialize;

use super::contender::Contender;
use super::path;
use super::split::Split;
use super::workload::{self, Activity, MOST_CONNECTIONS};
use crate::Bursts;

/// A piece of the way of packets, in both directions.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Its name in routes and reports.
    pub name: String,
    /// Its elements.
    pub path: PathSpec,
}

/// Connections that are alike.
#[derive(Clone, Debug, Serialize)]
pub struct FlowGroup {
    /// Its name in reports.
    pub name: String,
    /// How many connections there are.
    pub count: u32,
    /// The indices of the links that they take from the client to the server, in order.
    pub forward: Vec<usize>,
    /// The indices of the links from the server to the client, in order.
    pub backward: Vec<usize>,
    /// Whether what the client sends goes the links' backward way: they go forward from whoever writes, and that
    /// is the server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
    /// When they begin.
    pub start: Span,
    /// How much later each may begin, drawn for each by itself; None: all begin at once.
    pub stagger: Option<Span>,
    /// The contender that they play; None: the one that is compared.
    pub contender: Option<Contender>,
    /// The end whose link changes, and that knows of it; None: neither end does.
    pub mobile: Option<Mobile>,
    /// The link before which a Snoop agent repairs what is lost there, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoop: Option<usize>,
    /// The relay that ends each connection and has one of its own with either end, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// What is done on each connection.
    pub activities: Vec<Activity>,
}

impl FlowGroup {
    /// The bursts that are each an answer on a connection of its own, if its flows are these.
    pub fn answers(&self) -> Option<&Bursts> {
        self.activities.iter().find_map(|activity| activity.workload.answers())
    }

    /// How many connections its flows are: each flow is one, or one after the other for its answers.
    pub fn connections(&self) -> u32 {
        self.count * self.answers().map_or(1, Bursts::total)
    }

    /// The end that writes by itself, and plays the contender.
    pub fn sender(&self) -> End {
        if self.answers().is_some() { End::Server } else { End::Client }
    }

    /// The way from the [`sender`](Self::sender).
    pub fn sent(&self) -> Direction {
        match self.sender() {
            End::Client => Direction::Forward,
            End::Server => Direction::Backward,
        }
    }

    /// The links in a direction: forward is from the client to the server.
    pub fn hops(&self, direction: Direction) -> impl Iterator<Item = Hop> {
        let route = match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        };
        let direction = if self.reversed { direction.opposite() } else { direction };
        route.iter().map(move |&link| Hop { link, direction })
    }

    /// The elements of a direction, link by link.
    fn way<'a>(
        &'a self,
        links: &'a [Link],
        direction: Direction,
    ) -> impl Iterator<Item = &'a DirectionSpec> {
        self.hops(direction).map(|hop| elements(links, hop))
    }

    /// The rate of the flow's narrowest element in a direction, bit/s; see [`sustained_rate`].
    pub fn bottleneck(&self, links: &[Link], direction: Direction) -> Option<u64> {
        self.way(links, direction).filter_map(|elements| sustained_rate(elements)).min()
    }

    /// The least round-trip time; see [`PathSpec::base_rtt`].
    pub fn base_rtt(&self, links: &[Link]) -> Span {
        let both = [Direction::Forward, Direction::Backward];
        let elements = both.into_iter().flat_map(|direction| self.way(links, direction));
        elements.map(|elements| propagation(elements)).sum()
    }
}

/// The elements of a direction of a link.
pub(super) fn elements(links: &[Link], hop: Hop) -> &DirectionSpec {
    match hop.direction {
        Direction::Forward => &links[hop.link].path.forward,
        Direction::Backward => &links[hop.link].path.backward,
    }
}

/// The largest number of flows that the bench plays in a network; each needs a port.
const MOST_REAL_FLOWS: u32 = 20_000;

/// The names of the link that `[path]` describes, and of its flow.
const ALONE: (&str, &str) = ("path", "flow");

/// Reads the links, and the flows over them.
pub(super) fn read(root: &Section) -> Result<(Vec<Link>, Vec<FlowGroup>), Refusal> {
    const LINKS: &str = "[[link]] with name, forward, backward";
    const FLOWS: &str = "[[flow]] with name, route";
    let activities = root.optional("workload").map(|field| workload::read(&field)).transpose()?;
    if root.optional("link").is_none() && root.optional("flow").is_none() {
        return alone(root, activities);
    }
    if let Some(path) = root.optional("path") {
        return Err(path.refuse("one of [path] and [[link]]"));
    }
    let sections = root.required("link", LINKS)?.tables(LINKS)?;
    let mut links: Vec<Link> = Vec::new();
    for section in &sections {
        section.allow(&["name", "forward", "backward"])?;
        let name = name(section, links.iter().map(|link| link.name.as_str()))?;
        links.push(Link { name, path: path::read(section)? });
    }
    let mut flows: Vec<FlowGroup> = Vec::new();
    let groups = root.required("flow", FLOWS)?.tables(FLOWS)?;
    for section in &groups {
        let name = name(section, flows.iter().map(|flow| flow.name.as_str()))?;
        flows.push(group(section, name, &links, activities.as_deref())?);
    }
    let used = |link| {
        flows.iter().any(|flow| flow.forward.contains(&link) || flow.backward.contains(&link))
    };
    if let Some(unused) = (0..links.len()).find(|link| !used(*link)) {
        let field = sections[unused].required("name", "")?;
        return Err(field.refuse("a link that a flow's route takes"));
    }
    if let Some(field) = root.optional("workload")
        && groups.iter().all(|section| section.optional("workload").is_some())
    {
        return Err(field.refuse("none where every flow has a workload of its own"));
    }
    if flows.iter().all(|flow| flow.contender.is_some()) {
        let field = groups[0].required("contender", "")?;
        return Err(field.refuse("\"contender\" for one of the flows, as what is compared"));
    }
    Ok((links, flows))
}

/// Reads `[path]`: one link, and one flow over it.
fn alone(
    root: &Section,
    activities: Option<Vec<Activity>>,
) -> Result<(Vec<Link>, Vec<FlowGroup>), Refusal> {
    let activities = match activities {
        Some(activities) => activities,
        None => workload::read(&root.required("workload", workload::ALLOWED)?)?,
    };
    let field = root.required("path", "[[path.forward]] and [[path.backward]]")?;
    let section = field.section("[[path.forward]] and [[path.backward]]")?;
    section.allow(&["forward", "backward"])?;
    let link = Link { name: ALONE.0.into(), path: path::read(&section)? };
    let links = vec![link];
    let flow = FlowGroup {
        name: ALONE.1.into(),
        count: 1,
        forward: vec![0],
        backward: vec![0],
        reversed: answers(&activities),
        start: Span::ZERO,
        stagger: None,
        contender: None,
        mobile: None,
        snoop: None,
        split: None,
        activities,
    };
    takes_time(&field, &links, &flow)?;
    Ok((links, vec![flow]))
}

/// Whether the server writes: then what is called forward is its way.
fn answers(activities: &[Activity]) -> bool {
    activities.iter().any(|activity| activity.workload.answers().is_some())
}

fn group(
    section: &Section,
    name: String,
    links: &[Link],
    usual: Option<&[Activity]>,
) -> Result<FlowGroup, Refusal> {
    section.allow(&[
        "name",
        "count",
        "route",
        "backward",
        "start",
        "stagger",
        "contender",
        "mobile",
        "snoop",
        "split",
        "relay",
        "workload",
    ])?;
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let route = |field: &Field| -> Result<Vec<usize>, Refusal> {
        let allowed = format!("a list of links: {}", names.join(", "));
        field.list(&allowed)?.iter().map(|entry| entry.choice(&names)).collect()
    };
    let allowed = format!("the links on the way, such as [{:?}]", names[0]);
    let field = section.required("route", &allowed)?;
    let there = route(&field)?;
    let back = match section.optional("backward") {
        Some(field) => route(&field)?,
        None => there.iter().rev().copied().collect(),
    };
    let activities = match (section.optional("workload"), usual) {
        (Some(field), _) => workload::read(&field)?,
        (None, Some(usual)) => usual.to_vec(),
        (None, None) => workload::read(&section.required("workload", workload::ALLOWED)?)?,
    };
    let reversed = answers(&activities);
    let (forward, backward) = if reversed { (back, there.clone()) } else { (there.clone(), back) };
    let count = section.optional("count").map_or(Ok(1), |field| field.whole(1..=10_000))?;
    let start = section.optional_quantity::<Time>("start")?.unwrap_or(Time::ZERO);
    let flow = FlowGroup {
        name,
        count: count as u32,
        forward,
        backward,
        reversed,
        start: start - Time::ZERO,
        stagger: section.optional_quantity("stagger")?,
        contender: section.optional("contender").map_or(Ok(None), |field| played(&field))?,
        mobile: None,
        snoop: section.optional("snoop").map_or(Ok(None), |field| snoop(&field, links, &there))?,
        split: None,
        activities,
    };
    takes_time(&field, links, &flow)?;
    let split = Split::read(section, links, &flow)?;
    if flow.answers().is_some() && flow.connections() > MOST_CONNECTIONS {
        let allowed =
            format!("so few that all their bursts have at most {MOST_CONNECTIONS} new connections");
        return Err(section.required("count", "")?.refuse(allowed));
    }
    let mobile =
        section.optional("mobile").map(|field| mobile(&field, links, &flow)).transpose()?;
    Ok(FlowGroup { mobile, split, ..flow })
}

/// Reads the name of a link on the way, or "none". ACKs come back over it.
fn snoop(field: &Field, links: &[Link], there: &[usize]) -> Result<Option<usize>, Refusal> {
    let mut names = vec!["none"];
    names.extend(there.iter().map(|link| links[*link].name.as_str()));
    Ok(field.choice(&names)?.checked_sub(1).map(|place| there[place]))
}

/// Reads which end's link changes. An element on the flow's way has to change there.
fn mobile(field: &Field, links: &[Link], flow: &FlowGroup) -> Result<Mobile, Refusal> {
    let end = [End::Client, End::Server][field.choice(&["client", "server"])?];
    let both = [Direction::Forward, Direction::Backward];
    let elements = both.into_iter().flat_map(|way| flow.way(links, way)).flatten();
    let changes = elements.filter_map(|element| match element {
        ElementSpec::LinkChange(spec) => Some(&spec.links[1..]),
        _ => None,
    });
    let gap = |used: &UsedLink| (used.at, used.at + used.silence);
    let gaps: BTreeSet<(Time, Time)> = changes.flatten().map(gap).collect();
    let gaps: Vec<Range<Time>> = gaps.into_iter().map(|(from, to)| from..to).collect();
    let apart = gaps.windows(2).all(|pair| pair[0].end < pair[1].start);
    if gaps.is_empty() || !apart {
        return Err(
            field.refuse("none, or an end of a route with link-change, alike in both directions")
        );
    }
    Ok(Mobile { end, gaps })
}

/// Says what the real kernel cannot play, if there is anything.
pub(super) fn only_simulated(root: &Section, flows: &[FlowGroup]) -> Option<Refusal> {
    let sections = root.optional("flow")?.tables("").ok()?;
    let mut ports = MOST_REAL_FLOWS;
    sections.iter().zip(flows).find_map(|(section, flow)| {
        let simulated = flow.contender.filter(|contender| !contender.is_real());
        let many = ports < flow.connections();
        ports = ports.saturating_sub(flow.connections());
        let number = if section.optional("count").is_some() { "count" } else { "name" };
        let refused = |key, is_so: bool, allowed: &str| {
            Some(section.optional(key).filter(|_| is_so)?.refuse(allowed))
        };
        refused("mobile", true, "none on the real kernel; kirikae-lab sim has mobile ends")
            .or_else(|| {
                let allowed = "none on the real kernel; kirikae-lab sim has Snoop agents";
                refused("snoop", flow.snoop.is_some(), allowed)
            })
            .or_else(|| {
                let allowed = "none on the real kernel; kirikae-lab sim has relays";
                refused("split", flow.split.is_some(), allowed)
            })
            .or_else(|| {
                let allowed = "one that the real kernel has, too; kirikae-lab sim plays this one";
                refused("contender", simulated.is_some(), allowed)
            })
            .or_else(|| {
                let most = format!("at most {MOST_REAL_FLOWS} flows together on the real kernel");
                refused(number, many, &most)
            })
    })
}

/// Reads a contender's name, or "contender" for the one that is compared.
fn played(field: &Field) -> Result<Option<Contender>, Refusal> {
    let all = Contender::all();
    let mut names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
    names.push("contender");
    Ok(all.get(field.choice(&names)?).copied())
}

/// Reads a name, which must differ from all others.
fn name<'a>(
    section: &Section,
    mut others: impl Iterator<Item = &'a str>,
) -> Result<String, Refusal> {
    const ALLOWED: &str = "a name that no other has";
    let field = section.required("name", ALLOWED)?;
    let name = field.text(ALLOWED)?;
    if name.trim().is_empty() || name.contains('\n') || others.any(|other| other == name) {
        return Err(field.refuse(ALLOWED));
    }
    Ok(name.into())
}

/// Refuses a round trip of length 0: there an unlimited flow would write for ever at the same time.
fn takes_time(field: &Field, links: &[Link], flow: &FlowGroup) -> Result<(), Refusal> {
    let directions = [Direction::Forward, Direction::Backward];
    let limited = directions.iter().any(|way| flow.bottleneck(links, *way).is_some());
    if limited || flow.base_rtt(links) > Span::ZERO {
        return Ok(());
    }
    Err(field.refuse("a delay or a rate on the way, so that a round trip takes time"))
}
