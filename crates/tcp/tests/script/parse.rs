//! Parses a script.

use std::ops::Range;
use std::str::FromStr;

use kirikae_algorithms::Algorithm;
use kirikae_path::Span;
use kirikae_tcp::{Ecn, Handover, LossDetection, Profile, Reduction};

/// A script: its setup, and its lines.
pub struct Script {
    pub setup: Setup,
    pub lines: Vec<Line>,
}

/// The host, its connection and the other end.
pub struct Setup {
    pub profile: Profile,
    pub algorithm: Algorithm,
    /// How long the handshake took; None: the script makes it.
    pub connect: Option<Span>,
    /// The other end's receive window.
    pub window: u32,
}

pub struct Line {
    /// The line's number in the file.
    pub number: usize,
    pub at: At,
    /// The allowed difference of the time.
    pub tolerance: Span,
    pub event: Event,
}

pub enum At {
    Start(Span),
    After(Span),
}

pub enum Event {
    Open,
    LinkLeaves,
    LinkReturns,
    Write(u64),
    Read(u64),
    Arrives(Pattern),
    Leaves(Pattern),
    Check(Vec<Condition>),
    Quiet,
}

/// A segment as a script writes it.
#[derive(Clone, Default)]
pub struct Pattern {
    pub syn: bool,
    pub psh: bool,
    pub ece: bool,
    pub cwr: bool,
    pub migrate: bool,
    pub ecn: Ecn,
    pub data: Option<Range<u64>>,
    pub ack: Option<u64>,
    pub window: Option<u32>,
    pub sack: Vec<Range<u64>>,
    /// The time whose timestamp is echoed.
    pub echo: Option<Span>,
}

/// A condition on the connection.
pub struct Condition {
    pub name: String,
    pub operator: Operator,
    pub value: Value,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Number(f64),
    Word(String),
}

impl Script {
    /// Parses a script, or returns the line at which it fails.
    pub fn parse(text: &str) -> Result<Script, (usize, String)> {
        let algorithm = Algorithm::named("kk_reno").expect("built in");
        let mut setup = Setup {
            profile: Profile::linux_6(),
            algorithm,
            connect: Some(Span::from_millis(100)),
            window: 1_000_000,
        };
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let fail = |problem| (number, problem);
            match words.as_slice() {
                [] => {}
                [name, rest @ ..] if lines.is_empty() && is_setup(name) => {
                    setup.set(name, rest).map_err(fail)?;
                }
                words => lines.push(Line::parse(number, words).map_err(fail)?),
            }
        }
        Ok(Script { setup, lines })
    }
}

fn is_setup(name: &str) -> bool {
    let words = ["profile", "set", "algorithm", "mtu", "connect", "window"];
    words.contains(&name) || name.starts_with("kk_")
}

impl Setup {
    fn set(&mut self, name: &str, values: &[&str]) -> Result<(), String> {
        match (name, values) {
            ("profile", [name]) => {
                self.profile = Profile::named(name).ok_or(format!("no profile {name}"))?;
            }
            ("set", [feature, value]) => set_feature(&mut self.profile, feature, value)?,
            ("algorithm", [name]) => {
                self.algorithm = Algorithm::named(name).ok_or(format!("no algorithm {name}"))?;
            }
            ("mtu", [bytes]) => self.profile.mtu = number(bytes)?,
            ("connect", ["none"]) => self.connect = None,
            ("connect", [rtt]) => self.connect = Some(seconds(rtt)?),
            ("window", [bytes]) => self.window = number(bytes)?,
            (parameter, [value]) => {
                let (algorithm, parameter) =
                    parameter.split_once('.').ok_or("algorithm.parameter expected")?;
                if algorithm != self.algorithm.name() {
                    return Err(format!("the algorithm is {}", self.algorithm.name()));
                }
                let with = self.algorithm.with(parameter, number(value)?);
                self.algorithm = with.map_err(|error| error.to_string())?;
            }
            _ => return Err(format!("`{name}` with {} values", values.len())),
        }
        Ok(())
    }
}

fn set_feature(profile: &mut Profile, feature: &str, value: &str) -> Result<(), String> {
    match feature {
        "initial_window" => profile.initial_window = number(value)?,
        "reordering" => profile.reordering = number(value)?,
        "receive_window_max" => profile.receive_window_max = number(value)?,
        "hz" => profile.hz = number(value)?,
        "sack" => profile.sack = number(value)?,
        "timestamps" => profile.timestamps = number(value)?,
        "window_scaling" => profile.window_scaling = number(value)?,
        "ecn" => profile.ecn = number(value)?,
        "idle_restart" => profile.idle_restart = number(value)?,
        "frto" => profile.frto = number(value)?,
        "undo" => profile.undo = number(value)?,
        "mtu_probing" => profile.mtu_probing = number(value)?,
        "tail_loss_probe" => profile.tail_loss_probe = number(value)?,
        "count_segments" => profile.count_segments = number(value)?,
        "moderate_window" => profile.moderate_window = number(value)?,
        "rack_shortcut" => profile.rack_shortcut = number(value)?,
        "hold_ssthresh" => profile.hold_ssthresh = number(value)?,
        "delayed_ack" => profile.delayed_ack = number(value)?,
        "segmentation_offload" => profile.segmentation_offload = number(value)?,
        "rto_min" => profile.rto_min = seconds(value)?,
        "rto_initial" => profile.rto_initial = seconds(value)?,
        "sack_compression" if value == "none" => profile.sack_compression = None,
        "loss_detection" => {
            profile.loss_detection = match value {
                "rack" => LossDetection::Rack,
                "fack" => LossDetection::Fack,
                "duplicates" => LossDetection::Duplicates,
                "duplicates-or-time" => LossDetection::DuplicatesOrTime,
                _ => return Err(format!("no loss detection {value}")),
            }
        }
        "handover" => {
            profile.handover = match value {
                "immediate-expiration" => Handover::ImmediateExpiration,
                "bandwidth-aware" => Handover::BandwidthAware,
                "freeze" => Handover::Freeze,
                _ => return Err(format!("no handover {value}")),
            }
        }
        "reduction" => {
            profile.reduction = match value {
                "proportional" => Reduction::Proportional,
                "rate-halving" => Reduction::RateHalving,
                "at-once" => Reduction::AtOnce,
                _ => return Err(format!("no reduction {value}")),
            }
        }
        _ => return Err(format!("no feature {feature} {value}")),
    }
    Ok(())
}

impl Line {
    fn parse(number: usize, words: &[&str]) -> Result<Line, String> {
        let timed = words[0].starts_with(|first: char| first == '+' || first.is_ascii_digit());
        let (time, words) = if timed { (words[0], &words[1..]) } else { ("+0", words) };
        let (time, tolerance) = match time.split_once('~') {
            Some((time, tolerance)) => (time, seconds(tolerance)?),
            None => (time, Span::ZERO),
        };
        let at = match time.strip_prefix('+') {
            Some(after) => At::After(seconds(after)?),
            None => At::Start(seconds(time)?),
        };
        let event = match words {
            ["open"] => Event::Open,
            ["link", "leaves"] => Event::LinkLeaves,
            ["link", "returns"] => Event::LinkReturns,
            ["write", bytes] => Event::Write(self::number(bytes)?),
            ["read", bytes] => Event::Read(self::number(bytes)?),
            ["quiet"] => Event::Quiet,
            ["<", words @ ..] => Event::Arrives(Pattern::parse(words)?),
            [">", words @ ..] => Event::Leaves(Pattern::parse(words)?),
            ["%", words @ ..] => {
                let conditions = words.join(" ");
                Event::Check(conditions.split(',').map(Condition::parse).collect::<Result<_, _>>()?)
            }
            _ => return Err(format!("cannot read `{}`", words.join(" "))),
        };
        Ok(Line { number, at, tolerance, event })
    }
}

impl Pattern {
    fn parse(words: &[&str]) -> Result<Pattern, String> {
        let mut pattern = Pattern::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().ok_or(format!("a value after `{word}` expected"));
            match word {
                "syn" => pattern.syn = true,
                "psh" => pattern.psh = true,
                "ece" => pattern.ece = true,
                "cwr" => pattern.cwr = true,
                "migrate" => pattern.migrate = true,
                "ect" => pattern.ecn = Ecn::Ect,
                "ce" => pattern.ecn = Ecn::Ce,
                "ack" => pattern.ack = Some(number(value()?)?),
                "win" => pattern.window = Some(number(value()?)?),
                "ecr" => pattern.echo = Some(seconds(value()?)?),
                "sack" => {
                    pattern.sack = value()?.split(',').map(range).collect::<Result<_, _>>()?;
                }
                word => pattern.data = Some(range(word)?),
            }
        }
        Ok(pattern)
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Condition, String> {
        let [name, operator, value] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("a name, an operator and a value expected: `{text}`"));
        };
        let operator = match operator {
            "==" => Operator::Equal,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return Err(format!("no operator {operator}")),
        };
        let value = match value.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Word(value.to_string()),
        };
        Ok(Condition { name: name.to_string(), operator, value })
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("cannot read the value `{text}`"))
}

fn seconds(text: &str) -> Result<Span, String> {
    let seconds: f64 = number(text)?;
    if !(0.0..1e6).contains(&seconds) {
        return Err(format!("no time: `{text}`"));
    }
    Ok(Span::from_nanos((seconds * 1e9).round() as u64))
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (start, end) = text.split_once(':').ok_or(format!("cannot read `{text}`"))?;
    let (start, end) = (number(start)?, number(end)?);
    if start > end { Err(format!("{text} goes backwards")) } else { Ok(start..end) }
}
