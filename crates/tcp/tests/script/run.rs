//! Plays a script against an endpoint.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use kirikae_algorithms::CaState;
use kirikae_path::{Span, Time};
use kirikae_tcp::{Control, Ecn, Endpoint, Segment, Timestamp};

use super::parse::{At, Condition, Event, Line, Operator, Pattern, Script, Setup, Value};

/// Time 0 of a script: a multiple of what the timer wheel rounds to, so that scripts can name exact times.
const START: Time = Time::from_nanos(4_096 * 4_000_000);
/// The allowed difference of times that a script gives exactly: it rounds to microseconds.
const ROUNDING: Span = Span::from_nanos(1_000);
/// If timers go off more often than this without time passing, they never stop.
const TIMERS_AT_ONCE: u32 = 1_000;

struct Play<'a> {
    setup: &'a Setup,
    endpoint: Endpoint,
    now: Time,
    /// Segments that have left the endpoint, and that the script has not named yet.
    left: VecDeque<(Time, Segment)>,
    /// Ranges of data that have left, with their timestamps.
    stamps: Vec<(Range<u64>, u32)>,
    /// The other end's last ACK and TS.Recent.
    acked: u64,
    recent: u32,
}

impl Script {
    /// Plays the script; returns the line at which it fails, and how.
    pub fn run(&self) -> Result<(), (usize, String)> {
        let mut play = Play::new(&self.setup).map_err(|problem| (0, problem))?;
        let mut at = START;
        for line in &self.lines {
            at = match line.at {
                At::Start(span) => START + span,
                At::After(span) => at + span,
            };
            play.line(at, line).map_err(|problem| (line.number, problem))?;
        }
        let last = self.lines.last().map_or(0, |line| line.number);
        play.nothing_left().map_err(|problem| (last, problem))
    }
}

impl<'a> Play<'a> {
    fn new(setup: &'a Setup) -> Result<Play<'a>, String> {
        let control = Arc::new(Control { algorithm: setup.algorithm, switcher: None });
        let mut play = Play {
            setup,
            endpoint: Endpoint::new(Arc::new(setup.profile.clone()), control, 1),
            now: START,
            left: VecDeque::new(),
            stamps: Vec::new(),
            acked: 1,
            recent: 0,
        };
        if let Some(rtt) = setup.connect {
            play.now = Time::from_nanos((START - Time::ZERO).as_nanos() - rtt.as_nanos());
            play.tell(|endpoint, now, out| endpoint.open(now, out));
            let (_, syn) = play.left.pop_front().ok_or("no SYN")?;
            play.recent = syn.timestamp.map_or(0, |timestamp| timestamp.value);
            play.advance(START)?;
            let syn_ack =
                Pattern { syn: true, ece: setup.profile.ecn, ack: Some(1), ..Pattern::default() };
            play.arrives(&syn_ack);
            let ack = Pattern { ack: Some(1), ..Pattern::default() };
            play.leaves(&ack, START, Span::ZERO)?;
        }
        Ok(play)
    }

    fn line(&mut self, at: Time, line: &Line) -> Result<(), String> {
        if let Event::Leaves(pattern) = &line.event {
            return self.leaves(pattern, at, line.tolerance);
        }
        self.advance(at)?;
        match &line.event {
            Event::Open => self.tell(|endpoint, now, out| endpoint.open(now, out)),
            Event::LinkLeaves => self.tell(|endpoint, now, out| endpoint.link_leaves(now, out)),
            Event::LinkReturns => self.tell(|endpoint, now, out| endpoint.link_returns(now, out)),
            Event::Write(bytes) => self.tell(|endpoint, now, out| endpoint.write(now, *bytes, out)),
            Event::Read(bytes) => self.tell(|endpoint, now, out| endpoint.read(now, *bytes, out)),
            Event::Arrives(pattern) => self.arrives(pattern),
            Event::Check(conditions) => {
                return conditions.iter().try_for_each(|condition| self.check(condition));
            }
            Event::Leaves(_) | Event::Quiet => {}
        }
        Ok(())
    }

    /// Lets the endpoint do something now, and keeps what it sends.
    fn tell(&mut self, what: impl FnOnce(&mut Endpoint, Time, &mut Vec<Segment>)) {
        let mut out = Vec::new();
        what(&mut self.endpoint, self.now, &mut out);
        for segment in out {
            if let Some(timestamp) = segment.timestamp.filter(|_| segment.len > 0) {
                self.stamps.push((segment.seq..segment.end(), timestamp.value));
            }
            self.left.push_back((self.now, segment));
        }
    }

    /// Lets timers go off up to `at`. The script must have named all segments that left before.
    fn advance(&mut self, at: Time) -> Result<(), String> {
        self.nothing_left()?;
        while let Some(timer) = self.endpoint.timer().filter(|timer| *timer <= at) {
            self.go_off(timer)?;
            self.nothing_left()?;
        }
        if at < self.now {
            return Err("time goes back".to_string());
        }
        self.now = at;
        Ok(())
    }

    fn go_off(&mut self, timer: Time) -> Result<(), String> {
        self.now = self.now.max(timer);
        self.tell(|endpoint, now, out| endpoint.on_timer(now, out));
        let mut times = 0;
        while self.left.is_empty() && self.endpoint.timer().is_some_and(|next| next <= self.now) {
            times += 1;
            if times > TIMERS_AT_ONCE {
                return Err(format!("a timer goes off without end at {}", seconds(self.now)));
            }
            self.tell(|endpoint, now, out| endpoint.on_timer(now, out));
        }
        Ok(())
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.left.front() {
            None => Ok(()),
            Some((at, segment)) => {
                Err(format!("got unexpected {} > {}", seconds(*at), describe(segment)))
            }
        }
    }

    fn arrives(&mut self, pattern: &Pattern) {
        let next = self.endpoint.in_order() + 1;
        for data in split(pattern.data.clone().unwrap_or(next..next), self.endpoint.mss()) {
            let segment = self.segment(pattern, data);
            self.tell(|endpoint, now, out| endpoint.receive(now, &segment, out));
        }
    }

    fn segment(&mut self, pattern: &Pattern, data: Range<u64>) -> Segment {
        let ack = pattern.ack.unwrap_or(if pattern.syn { 0 } else { self.acked });
        if ack > self.acked {
            // By RFC 7323, section 4.3, this is the segment that followed what was ACKed last.
            let earliest = self.stamps.iter().rev().find(|(data, _)| data.contains(&self.acked));
            self.recent = earliest.map_or(self.recent, |(_, value)| *value);
            self.acked = ack;
        }
        let echo = pattern.echo.map_or(self.recent, |span| clock(START + span));
        let timestamp = Timestamp { value: clock(self.now), echo };
        let sack =
            (!pattern.sack.is_empty()).then(|| Box::new(pattern.sack.iter().cloned().collect()));
        Segment {
            seq: if pattern.syn { 0 } else { data.start },
            len: (data.end - data.start) as u32,
            ack,
            window: pattern.window.unwrap_or(self.setup.window),
            timestamp: self.setup.profile.timestamps.then_some(timestamp),
            syn: pattern.syn,
            psh: pattern.psh,
            ece: pattern.ece,
            cwr: pattern.cwr,
            migrate: pattern.migrate,
            ecn: pattern.ecn,
            sack,
        }
    }

    /// Checks that the next segment of the script leaves, and at that time.
    fn leaves(&mut self, pattern: &Pattern, at: Time, tolerance: Span) -> Result<(), String> {
        let tolerance = tolerance.max(ROUNDING);
        let mss = self.endpoint.mss();
        for data in split(pattern.data.clone().unwrap_or(0..0), mss) {
            let expected = Pattern { data: pattern.data.as_ref().map(|_| data), ..pattern.clone() };
            let told = || format!("expected {} > {expected}", seconds(at));
            while self.left.is_empty() {
                match self.endpoint.timer().filter(|timer| *timer <= at + tolerance) {
                    Some(timer) => self.go_off(timer)?,
                    None => return Err(format!("{}, got nothing", told())),
                }
            }
            let (left, segment) = self.left.pop_front().expect("something left");
            let off = if left > at { left - at } else { at - left };
            if off > tolerance || !expected.matches(&segment) {
                return Err(format!("{}, got {} > {}", told(), seconds(left), describe(&segment)));
            }
        }
        Ok(())
    }

    fn check(&self, condition: &Condition) -> Result<(), String> {
        let name = condition.name.as_str();
        let found = self.value(name).ok_or(format!("nothing is known of {name}"))?;
        let holds = match (&found, &condition.value) {
            (Value::Number(found), Value::Number(value)) => {
                condition.operator.compare(*found, *value)
            }
            (found, value) => condition.operator == Operator::Equal && found == value,
        };
        if holds { Ok(()) } else { Err(format!("{name} is {}", show(&found))) }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let number = |number| Some(Value::Number(number));
        match name {
            "acked" => return number(self.endpoint.acked() as f64),
            "in_order" => return number(self.endpoint.in_order() as f64),
            "rto" => return number(self.endpoint.rto_us()? as f64 / 1e6),
            _ => {}
        }
        let socket = self.endpoint.socket()?;
        let fields = &socket.fields;
        let in_flight =
            fields.packets_out - fields.sacked_out - fields.lost_out + fields.retrans_out;
        let count = match name {
            "state" => {
                let state = match socket.state() {
                    CaState::Open => "Open",
                    CaState::Disorder => "Disorder",
                    CaState::Cwr => "CWR",
                    CaState::Recovery => "Recovery",
                    CaState::Loss => "Loss",
                };
                return Some(Value::Word(state.to_string()));
            }
            "srtt" => return number(f64::from(fields.srtt_us) / 8e6),
            "cwnd" => fields.snd_cwnd,
            "ssthresh" => fields.snd_ssthresh,
            "in_flight" => in_flight,
            "sacked_out" => fields.sacked_out,
            "lost_out" => fields.lost_out,
            "retrans_out" => fields.retrans_out,
            _ => return None,
        };
        number(count.into())
    }
}

impl Operator {
    fn compare(self, found: f64, value: f64) -> bool {
        let off = found - value;
        let equal = off.abs() < 1e-6;
        match self {
            Operator::Equal => equal,
            Operator::Less => off < 0.0 && !equal,
            Operator::LessOrEqual => off < 0.0 || equal,
            Operator::Greater => off > 0.0 && !equal,
            Operator::GreaterOrEqual => off > 0.0 || equal,
        }
    }
}

impl Pattern {
    fn matches(&self, segment: &Segment) -> bool {
        let data = match &self.data {
            Some(data) => {
                segment.seq == data.start && segment.seq + u64::from(segment.len) == data.end
            }
            None => segment.len == 0,
        };
        let echo = |span| segment.timestamp.is_some_and(|both| both.echo == clock(START + span));
        data && segment.syn == self.syn
            && segment.ece == self.ece
            && segment.cwr == self.cwr
            && segment.migrate == self.migrate
            && segment.sack_blocks() == self.sack
            && (segment.psh || !self.psh)
            && (self.ecn == Ecn::NotEct || segment.ecn == self.ecn)
            && self.ack.is_none_or(|ack| segment.ack == ack)
            && self.window.is_none_or(|window| segment.window == window)
            && self.echo.is_none_or(echo)
    }
}

/// Cuts data into full segments; without data there is one piece.
fn split(data: Range<u64>, mss: u32) -> impl Iterator<Item = Range<u64>> {
    let mss = u64::from(mss);
    let pieces = (data.end - data.start).div_ceil(mss).max(1);
    (0..pieces).map(move |piece| {
        let start = data.start + piece * mss;
        start..data.end.min(start + mss)
    })
}

/// The clock of timestamps.
fn clock(at: Time) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

fn seconds(at: Time) -> String {
    let nanos = at.as_nanos() as i64 - START.as_nanos() as i64;
    format!("{:.6}", nanos as f64 / 1e9)
}

fn show(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Word(word) => word.clone(),
    }
}

fn describe(segment: &Segment) -> String {
    let pattern = Pattern {
        syn: segment.syn,
        psh: segment.psh,
        ece: segment.ece,
        cwr: segment.cwr,
        migrate: segment.migrate,
        ecn: segment.ecn,
        data: Some(segment.seq..segment.seq + u64::from(segment.len)),
        ack: Some(segment.ack),
        window: Some(segment.window),
        sack: segment.sack_blocks().to_vec(),
        echo: None,
    };
    let echo = segment.timestamp.map(|both| i64::from(both.echo) - i64::from(clock(START)));
    let echo = echo.map_or(String::new(), |ms| format!(" ecr {:.3}", ms as f64 / 1e3));
    format!("{pattern}{echo}")
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let blocks: Vec<String> =
            self.sack.iter().map(|block| format!("{}:{}", block.start, block.end)).collect();
        let flag = |set: bool, name: &str| set.then(|| name.to_string());
        let words = [
            flag(self.syn, "syn"),
            flag(self.psh, "psh"),
            flag(self.ece, "ece"),
            flag(self.cwr, "cwr"),
            flag(self.migrate, "migrate"),
            flag(self.ecn == Ecn::Ect, "ect"),
            flag(self.ecn == Ecn::Ce, "ce"),
            self.data.as_ref().map(|data| format!("{}:{}", data.start, data.end)),
            self.ack.map(|ack| format!("ack {ack}")),
            self.window.map(|window| format!("win {window}")),
            (!blocks.is_empty()).then(|| format!("sack {}", blocks.join(","))),
            self.echo.map(|span| format!("ecr {:.3}", span.as_secs_f64())),
        ];
        f.write_str(&words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}
