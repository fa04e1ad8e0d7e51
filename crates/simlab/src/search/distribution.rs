//! What is drawn: every path that a search may try, and how likely, as a scenario file.
//!
//! Of each choice the first is the simplest: a find is reduced towards it.

use kirikae_policy::WarmStart;
use kirikae_scenario::Contender;

use super::draw::{Draw, Gene, Tape, rounded};

/// Bursts of a path that are measured in a search.
pub const BURSTS: u32 = 50;
/// A link that changes has at most so many periods for [`BURSTS`] bursts; what comes after stays as the last.
const PERIODS: u32 = 12;
/// Mbit/s up to which a link may have cross traffic, whose packets are simulated, too.
const CROSSED: f64 = 20.0;

/// How long and how often a path is played, with which seed, and by whom.
#[derive(Clone, Copy)]
pub struct Play<'a> {
    /// Bursts on a connection, from 5: of two sizes there are a fifth more.
    pub bursts: u32,
    /// Seed of the first repetition; the next ones follow.
    pub seed: u64,
    /// From 1.
    pub repetitions: u32,
    /// In the order of the table.
    pub contenders: &'a [Contender],
    /// How connections begin, each of which is for one burst; None: one carries all of them.
    pub new_connections: Option<WarmStart>,
}

/// The drawn path as the text of a scenario file.
pub fn scenario(draw: &Draw, play: Play) -> String {
    write(&mut Tape::new(draw), draw, play)
}

/// The numbers that the path depends on.
pub fn genes(draw: &Draw, new_connections: Option<WarmStart>) -> Vec<Gene> {
    let mut tape = Tape::new(draw);
    let play = Play { bursts: BURSTS, seed: 0, repetitions: 1, contenders: &[], new_connections };
    write(&mut tape, draw, play);
    tape.into_genes()
}

fn write(tape: &mut Tape, draw: &Draw, play: Play) -> String {
    let basics = Basics::draw(tape, play.bursts);
    let mut told = vec![basics.told()];
    let workload = match play.new_connections {
        None => workload(tape, &basics, &mut told),
        Some(start) => answers(tape, &basics, start, &mut told),
    };
    let [forward, backward] = path(tape, &basics, &mut told);
    let ways = [("forward", forward), ("backward", backward)];
    let path: String = ways
        .iter()
        .flat_map(|(way, elements)| {
            elements.iter().map(move |it| format!("[[path.{way}]]\n{it}\n"))
        })
        .collect();
    let ecn = if path.contains("mark = true") { "[stack]\necn = true\n\n" } else { "" };
    let contenders: Vec<String> =
        play.contenders.iter().map(|contender| format!("\"{contender}\"")).collect();
    let Play { seed, repetitions, .. } = play;
    format!(
        "title = \"{} (path {}{})\"\nseed = {seed}\n\n{}{path}{ecn}[bench]\ncontenders = [{}]\n\n\
         [sim]\n{}repetitions = {repetitions}\n",
        told.join("; "),
        draw.index,
        if draw.is_changed() { ", changed" } else { "" },
        workload.text,
        contenders.join(", "),
        workload.duration,
    )
}

/// What every path has.
struct Basics {
    /// Round trip without any waiting, ms.
    rtt_ms: f64,
    /// Of the bottleneck, Mbit/s.
    rate_mbit: f64,
    /// Of a burst, KiB.
    burst_kib: f64,
    /// From burst to burst, or how long the application thinks, s.
    interval_s: f64,
    /// What others take of the bottleneck, while they send: a share of its rate.
    cross: Option<(f64, bool)>,
    /// Bursts on a connection.
    bursts: u32,
}

impl Basics {
    fn draw(tape: &mut Tape, bursts: u32) -> Basics {
        let rtt_ms = tape.quantity("rtt", 5.0, 800.0);
        let rate_mbit = tape.quantity("rate", 0.3, 200.0);
        let burst_kib = tape.quantity("burst", 2.0, 512.0);
        let cross = [("none", 8.0), ("cross traffic", 1.0), ("cross traffic in turns", 1.0)];
        let cross = if rate_mbit <= CROSSED { tape.choice("cross", &cross) } else { "none" };
        let in_turns = cross == "cross traffic in turns";
        let cross = (cross != "none").then(|| (tape.quantity("cross.share", 0.1, 0.9), in_turns));
        // Bursts that come faster than the link takes them would only wait for each other.
        let left = 1.0 - cross.map_or(0.0, |(share, _)| share);
        let takes_s = burst_kib * 1024.0 * 8.0 / (rate_mbit * 1e6 * left);
        let interval_s = tape.quantity("interval", 0.05, 10.0).max(rounded(1.5 * takes_s, 2));
        Basics { rtt_ms, rate_mbit, burst_kib, interval_s, cross, bursts }
    }

    fn told(&self) -> String {
        let Basics { rtt_ms, rate_mbit, burst_kib, interval_s, .. } = self;
        format!("{rate_mbit} Mbit/s, RTT {rtt_ms} ms, {burst_kib} KiB every {interval_s} s")
    }

    /// About how long the bursts take together, s.
    fn length_s(&self) -> f64 {
        f64::from(self.bursts) * self.interval_s
    }
}

struct Workload {
    text: String,
    /// The key, where one is needed.
    duration: String,
}

fn workload(tape: &mut Tape, basics: &Basics, told: &mut Vec<String>) -> Workload {
    let &Basics { burst_kib, interval_s, rate_mbit, bursts: all, .. } = basics;
    let kinds = [("bursts", 6.0), ("requests", 3.0), ("mixed sizes", 1.0), ("bulk", 1.0)];
    let kind = tape.choice("workload", &kinds);
    let spacing = tape.choice("spacing", &[("fixed", 1.0), ("exponential", 1.0)]);
    let bursts = |kib: f64, interval_s: f64, count: u32| {
        format!(
            "burst = \"{kib} KiB\"\ninterval = \"{interval_s} s\"\nspacing = \"{spacing}\"\n\
             count = {count}\n\n"
        )
    };
    let own = bursts(burst_kib, interval_s, all);
    // Ends when all is done; this is for what never is.
    let duration = format!("duration = \"{} s\"\n", (4.0 * basics.length_s()).round() + 600.0);
    match kind {
        "bursts" => Workload { text: format!("[workload]\n{own}"), duration: String::new() },
        "requests" => {
            told.push("asks again after the answer".into());
            let text = format!(
                "[workload]\nkind = \"requests\"\nrequest = \"{burst_kib} KiB\"\nresponse = \"1 B\"\n\
                 think = \"{interval_s} s\"\nspacing = \"{spacing}\"\ncount = {all}\n\n"
            );
            Workload { text, duration }
        }
        "mixed sizes" => {
            let larger_kib = rounded(burst_kib * tape.quantity("larger", 2.0, 50.0), 2).min(512.0);
            let (seldom_s, count) = (rounded(interval_s * 5.0, 2), all / 5);
            told.push(format!("and {larger_kib} KiB every {seldom_s} s"));
            let larger = bursts(larger_kib, seldom_s, count);
            Workload { text: format!("[[workload]]\n{own}[[workload]]\n{larger}"), duration }
        }
        _ => {
            // What the link takes in a quarter of the time, at most.
            let most_mb = rate_mbit / 8.0 * basics.length_s() / 4.0;
            let bulk_mb = rounded(tape.quantity("bulk", 0.1, 10.0).min(most_mb), 2);
            let after_s = rounded(basics.length_s() / 4.0, 2);
            told.push(format!("and {bulk_mb} MB after {after_s} s"));
            let bulk =
                format!("kind = \"bulk\"\nbytes = \"{bulk_mb} MB\"\nafter = \"{after_s} s\"\n\n");
            Workload { text: format!("[[workload]]\n{own}[[workload]]\n{bulk}"), duration }
        }
    }
}

/// A new connection for each burst.
fn answers(tape: &mut Tape, basics: &Basics, start: WarmStart, told: &mut Vec<String>) -> Workload {
    let &Basics { burst_kib, interval_s, bursts, .. } = basics;
    let spacing = tape.choice("spacing", &[("fixed", 1.0), ("exponential", 1.0)]);
    let sizes = tape.choice("sizes", &[("fixed", 1.0), ("exponential", 1.0)]);
    let overlap = tape.choice("overlap", &[("one by one", 1.0), ("beside each other", 1.0)]);
    told.push(format!("each on a connection of its own, {overlap}, {} start", start.name()));
    let text = format!(
        "[scope]\nwarm-start = \"{}\"\n\n[workload]\nburst = \"{burst_kib} KiB\"\nsizes = \"{sizes}\"\n\
         interval = \"{interval_s} s\"\nspacing = \"{spacing}\"\nconnection = \"new\"\n\
         overlap = {}\ncount = {bursts}\n\n",
        start.name(),
        overlap == "beside each other",
    );
    Workload { text, duration: String::new() }
}

/// Both directions, element by element.
fn path(tape: &mut Tape, basics: &Basics, told: &mut Vec<String>) -> [Vec<String>; 2] {
    let one_way_ms = basics.rtt_ms / 2.0;
    let mut forward = Vec::new();
    forward.extend(loss(tape, basics, told));
    forward.extend(outage(tape, basics, told));
    forward.extend(arq(tape, told));
    let (link, returning) = link(tape, basics, told);
    forward.push(link);
    forward.extend(delay(tape, one_way_ms, returning.is_some(), told));
    let mut backward = Vec::new();
    match tape.choice("back", &[("plain", 10.0), ("loss of ACKs", 1.0), ("thin return", 1.0)]) {
        "plain" => {}
        "loss of ACKs" => {
            let probability = tape.quantity("back.loss", 1e-3, 0.1);
            told.push(format!("loss of ACKs {probability}"));
            backward.push(format!("element = \"loss\"\nprobability = {probability}\n"));
        }
        _ => {
            let rate_mbit = rounded(basics.rate_mbit * tape.quantity("back.rate", 0.01, 0.5), 2);
            told.push(format!("back {rate_mbit} Mbit/s"));
            backward.push(format!(
                "element = \"rate\"\nrate = \"{rate_mbit} Mbit/s\"\nqueue = \"100 packets\"\n"
            ));
        }
    }
    backward.push(
        returning.unwrap_or_else(|| format!("element = \"delay\"\ndelay = \"{one_way_ms} ms\"\n")),
    );
    [forward, backward]
}

/// When something comes and goes, in s: so long, from so early on, again and again.
fn window(tape: &mut Tape, basics: &Basics, names: [&'static str; 2]) -> (f64, f64) {
    let every_s = rounded(basics.interval_s * tape.quantity(names[0], 3.0, 40.0), 2);
    (rounded(every_s * tape.quantity(names[1], 0.1, 0.8), 2), every_s)
}

fn loss(tape: &mut Tape, basics: &Basics, told: &mut Vec<String>) -> Option<String> {
    let kinds = [("none", 3.0), ("loss", 3.0), ("Gilbert-Elliott", 2.0), ("runs of loss", 1.0)];
    let element = match tape.choice("loss", &kinds) {
        "none" => return None,
        "loss" => {
            let probability = tape.quantity("loss.probability", 1e-4, 0.1);
            told.push(format!("loss {probability}"));
            format!("element = \"loss\"\nprobability = {probability}\n")
        }
        "Gilbert-Elliott" => {
            let p = tape.quantity("loss.p", 1e-4, 0.02);
            let r = tape.quantity("loss.r", 0.05, 0.7);
            let h = tape.quantity("loss.h", 0.01, 0.7);
            told.push(format!("Gilbert-Elliott p {p} r {r} h {h}"));
            format!("element = \"gilbert-elliott\"\np = {p}\nr = {r}\nk = 1\nh = {h}\n")
        }
        _ => {
            let begin = tape.quantity("loss.begin", 1e-4, 0.02);
            let packets = tape.quantity("loss.packets", 2.0, 30.0).round();
            told.push(format!("runs of {packets} lost {begin}"));
            format!(
                "element = \"run-loss\"\nbegin = {begin}\n\
                 lengths = [{{ packets = {packets}, weight = 1 }}]\n"
            )
        }
    };
    if tape.choice("loss.when", &[("always", 1.0), ("comes and goes", 1.0)]) == "always" {
        return Some(element);
    }
    let (long_s, every_s) = window(tape, basics, ["loss.every", "loss.share"]);
    told.push(format!("for {long_s} s of {every_s} s"));
    let during = format!("during = [{{ from = \"{}\", to = \"{}\" }}]", "0 s", seconds(long_s));
    Some(format!("{element}{during}\nevery = \"{every_s} s\"\n"))
}

fn outage(tape: &mut Tape, basics: &Basics, told: &mut Vec<String>) -> Option<String> {
    let kinds = [("none", 14.0), ("outages that drop", 1.0), ("outages that hold", 1.0)];
    let action = match tape.choice("outage", &kinds) {
        "none" => return None,
        "outages that drop" => "drop",
        _ => "hold",
    };
    let every_s = rounded(basics.interval_s * tape.quantity("outage.every", 3.0, 40.0), 2);
    let long_s = tape.quantity("outage.length", 0.05, 5.0).min(every_s / 4.0);
    let from_s = every_s / 2.0;
    told.push(format!("outages of {long_s} s, packets {action}"));
    Some(format!(
        "element = \"outage\"\nintervals = [{{ from = \"{}\", to = \"{}\" }}]\n\
         every = \"{every_s} s\"\naction = \"{action}\"\n",
        seconds(from_s),
        seconds(from_s + long_s),
    ))
}

fn arq(tape: &mut Tape, told: &mut Vec<String>) -> Option<String> {
    if tape.choice("arq", &[("none", 15.0), ("ARQ", 1.0)]) == "none" {
        return None;
    }
    let loss = tape.quantity("arq.loss", 0.01, 0.4);
    let retries = tape.quantity("arq.retries", 1.0, 6.0).round();
    let delay_ms = tape.quantity("arq.delay", 2.0, 60.0);
    told.push(format!("ARQ {loss}, {retries} times after {delay_ms} ms"));
    Some(format!(
        "element = \"arq\"\nloss = {loss}\nretries = {retries}\nretry-delay = \"{delay_ms} ms\"\n"
    ))
}

/// The bottleneck and, where the route changes, the way back.
fn link(tape: &mut Tape, basics: &Basics, told: &mut Vec<String>) -> (String, Option<String>) {
    let rate_mbit = basics.rate_mbit;
    let kinds = [("constant", 10.0), ("rate steps", 2.0), ("route changes", 2.0), ("radio", 1.0)];
    let kind = tape.choice("link", &kinds);
    let queue = queue(tape, told);
    let cross =
        basics.cross.map_or(String::new(), |cross| cross_traffic(tape, basics, cross, told));
    match kind {
        "constant" => {
            let retries = retries(tape, told);
            let rate = format!("element = \"rate\"\nrate = \"{rate_mbit} Mbit/s\"\n");
            (rate + &queue + &cross + &retries, None)
        }
        "rate steps" => {
            let other_mbit = rounded(rate_mbit * tape.quantity("link.times", 0.05, 5.0), 2);
            let period_s = period(tape, basics);
            told.push(format!("and {other_mbit} Mbit/s, {period_s} s each"));
            let steps = periods(basics, period_s, |at, place| {
                let rate = [rate_mbit, other_mbit][place];
                format!("    {{ at = \"{at}\", rate = \"{rate} Mbit/s\" }},\n")
            });
            (format!("element = \"rate\"\nsteps = [\n{steps}]\n") + &queue + &cross, None)
        }
        "route changes" => {
            let other_mbit = rounded(rate_mbit * tape.quantity("link.times", 0.1, 3.0), 2);
            let other_ms = tape.quantity("link.rtt", 5.0, 800.0);
            let period_s = period(tape, basics);
            let silence_s = tape.quantity("link.silence", 0.001, 1.0).min(period_s / 4.0);
            told.push(format!("and {other_mbit} Mbit/s, RTT {other_ms} ms, {period_s} s each"));
            let links = |rates: [f64; 2]| {
                let links = periods(basics, period_s, |at, place| {
                    let first = at == "0 s";
                    let silence = format!(", silence = \"{}\"", seconds(silence_s));
                    let silence = if first { "" } else { &silence };
                    let (rate, delay_ms) = (rates[place], [basics.rtt_ms, other_ms][place] / 2.0);
                    format!(
                        "    {{ at = \"{at}\"{silence}, rate = \"{rate} Mbit/s\", \
                         delay = \"{delay_ms} ms\" }},\n"
                    )
                });
                format!("element = \"link-change\"\nlinks = [\n{links}]\n")
            };
            let returning = links([1000.0; 2]) + "queue = \"1000 packets\"\n";
            (links([rate_mbit, other_mbit]) + &queue, Some(returning))
        }
        _ => {
            let fastest_mbit = rounded(rate_mbit.max(2.0), 2);
            let radius_km = tape.quantity("radio.radius", 0.3, 3.0);
            let fastest_kmh = tape.quantity("radio.fastest", 2.0, 120.0);
            let retries = tape.quantity("radio.retries", 1.0, 6.0).round();
            let delay_ms = tape.quantity("radio.delay", 2.0, 40.0);
            told.push(format!("radio within {radius_km} km at up to {fastest_kmh} km/h"));
            let radio = format!(
                "element = \"adaptive-modulation\"\nfastest-rate = \"{fastest_mbit} Mbit/s\"\n\
                 budget = \"160 dB\"\nfrequency = \"2000 MHz\"\nbase-height = \"30 m\"\n\
                 mobile-height = \"1.5 m\"\nradius = \"{radius_km} km\"\nslowest = \"1 km/h\"\n\
                 fastest = \"{fastest_kmh} km/h\"\nretries = {retries}\n\
                 retry-delay = \"{delay_ms} ms\"\n"
            );
            (radio + &queue + &cross, None)
        }
    }
}

/// How long each of two links is used, s.
fn period(tape: &mut Tape, basics: &Basics) -> f64 {
    rounded(basics.interval_s * tape.quantity("link.period", 3.0, 30.0), 2)
}

/// Two in turns; `of` is told when, and which.
fn periods(basics: &Basics, period_s: f64, of: impl Fn(String, usize) -> String) -> String {
    let turns = PERIODS * basics.bursts / BURSTS;
    (0..turns).map(|turn| of(seconds(period_s * f64::from(turn)), turn as usize % 2)).collect()
}

fn queue(tape: &mut Tape, told: &mut Vec<String>) -> String {
    let packets = tape.quantity("queue", 4.0, 1000.0).round();
    told.push(format!("queue {packets}"));
    let limit = format!("queue = \"{packets} packets\"\n");
    let kinds = [("drop-tail", 10.0), ("CoDel", 1.0), ("CoDel with ECN", 0.5), ("reordering", 0.5)];
    match tape.choice("queue.kind", &kinds) {
        "drop-tail" => limit,
        "CoDel" => {
            told.push("CoDel".into());
            limit + "codel = {}\n"
        }
        "CoDel with ECN" => {
            told.push("CoDel with ECN".into());
            limit + "codel = { mark = true }\n"
        }
        _ => {
            let interval = tape.quantity("queue.reorder", 2.0, 50.0).round();
            told.push(format!("reordering by {interval}"));
            limit + &format!("reorder-interval = {interval}\n")
        }
    }
}

fn cross_traffic(
    tape: &mut Tape,
    basics: &Basics,
    (share, in_turns): (f64, bool),
    told: &mut Vec<String>,
) -> String {
    let rate_mbit = rounded(basics.rate_mbit * share, 2);
    told.push(format!("cross traffic {rate_mbit} Mbit/s"));
    if !in_turns {
        return format!("cross = {{ rate = \"{rate_mbit} Mbit/s\" }}\n");
    }
    let on_s = tape.quantity("cross.on", 0.1, 30.0);
    let off_s = tape.quantity("cross.off", 0.1, 30.0);
    let turns = tape.choice("cross.turns", &[("fixed", 1.0), ("exponential", 1.0)]);
    told.push(format!("for {on_s} s of {} s", rounded(on_s + off_s, 2)));
    format!(
        "cross = {{ rate = \"{rate_mbit} Mbit/s\", on = \"{on_s} s\", off = \"{off_s} s\", \
         turns = \"{turns}\" }}\n"
    )
}

fn retries(tape: &mut Tape, told: &mut Vec<String>) -> String {
    if tape.choice("retries", &[("none", 20.0), ("frames repeated", 1.0)]) == "none" {
        return String::new();
    }
    let limit = tape.quantity("retries.limit", 1.0, 7.0).round();
    let h = tape.quantity("retries.h", 0.1, 0.9);
    told.push(format!("frames repeated {limit} times"));
    format!("retries = {{ limit = {limit}, p = 0.01, r = 0.1, k = 0.95, h = {h} }}\n")
}

/// The way behind the bottleneck; a changing route brings its delays.
fn delay(tape: &mut Tape, one_way_ms: f64, routed: bool, told: &mut Vec<String>) -> Option<String> {
    let kinds = [("fixed", 10.0), ("jitter", 1.0), ("jitter that reorders", 1.0)];
    let kind = tape.choice("delay", &kinds);
    if kind == "fixed" {
        let delay = format!("element = \"delay\"\ndelay = \"{one_way_ms} ms\"\n");
        return (!routed).then_some(delay);
    }
    let order = if kind == "jitter" { "kept" } else { "free" };
    let jitter_ms = rounded(one_way_ms * tape.quantity("delay.jitter", 0.02, 2.0), 2);
    let delay_ms = if routed { 0.1 } else { one_way_ms };
    told.push(format!("jitter {jitter_ms} ms, order {order}"));
    Some(format!(
        "element = \"jitter\"\ndelay = \"{delay_ms} ms\"\njitter = \"{jitter_ms} ms\"\n\
         order = \"{order}\"\n"
    ))
}

/// A time as a scenario has it, to the microsecond.
fn seconds(seconds: f64) -> String {
    format!("{} s", (seconds * 1e6).round() / 1e6)
}
