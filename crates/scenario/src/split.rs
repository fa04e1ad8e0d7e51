//! Reads `split` and `relay` of a `[[flow]]`: split TCP.

use kirikae_path::{Span, bottleneck, propagation};
use kirikae_settings::Refusal;
use kirikae_settings::section::Section;
use kirikae_sim::Hop;
use serde::Serialize;

use super::contender::Contender;
use super::network::{FlowGroup, Link, elements};

/// A relay between two links, which ends each connection and has one of its own with either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// The link before which it stands.
    pub link: usize,
    /// Who plays on it, towards both ends.
    pub relay: Contender,
}

impl Split {
    /// Reads the relay of a flow whose links and Snoop agent have been read.
    ///
    /// # Errors
    /// Fails if there is no such link or contender, if the relay would not stand between two links both ways, or
    /// beside a Snoop agent; says file, line and key, and what is allowed.
    pub(super) fn read(
        section: &Section,
        links: &[Link],
        flow: &FlowGroup,
    ) -> Result<Option<Split>, Refusal> {
        let relay = section.optional("relay");
        let Some(field) = section.optional("split") else {
            let allowed = "none without split, which says where the relay stands";
            return relay.map_or(Ok(None), |field| Err(field.refuse(allowed)));
        };
        let contenders = Contender::all();
        let played: Vec<&str> = contenders.iter().map(|contender| contender.name()).collect();
        let relay = match relay {
            Some(field) => contenders[field.choice(&played)?],
            None => Contender::BASELINE,
        };
        let there: Vec<Hop> = flow.hops(flow.sent()).collect();
        let back: Vec<Hop> = flow.hops(flow.sent().opposite()).collect();
        let mut names = vec!["none"];
        names.extend(there[1..].iter().map(|hop| links[hop.link].name.as_str()));
        let Some(before) = field.choice(&names)?.checked_sub(1).map(|place| place + 1) else {
            return Ok(None);
        };
        if flow.snoop.is_some() {
            return Err(field.refuse("none beside a Snoop agent"));
        }
        let link = there[before].link;
        let behind = back.iter().position(|hop| hop.link == link).map(|place| place + 1);
        let Some(behind) = behind.filter(|behind| *behind < back.len()) else {
            return Err(field.refuse("none, or a link that backward takes before another"));
        };
        let takes_time = |hop: &Hop| {
            let elements = elements(links, *hop);
            bottleneck(elements).is_some() || propagation(elements) > Span::ZERO
        };
        let first = there[..before].iter().chain(&back[behind..]).any(takes_time);
        let second = there[before..].iter().chain(&back[..behind]).any(takes_time);
        if !(first && second) {
            return Err(field.refuse("none, or a link with a delay or a rate on either side"));
        }
        Ok(Some(Split { link, relay }))
    }
}
