//! `kirikae run`

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use kirikae_agent::{Config, DEFAULT_PATHS, Namespaces, Pinning};
use kirikae_algorithms::Algorithm;
use kirikae_command::setting::{self, Setting};
use kirikae_command::{Choice, lines_lost, queue_line, tell, write_in_background};
use kirikae_daemon::{Host, PolicyFile, SeenBy, Service};
use kirikae_policy::{LEAST_RTT, Matching, Period, Policy, Scope, Timeouts};
use kirikae_vocabulary::Switch;
use nix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::notify;

/// The policy file that is used if no other is named.
pub const POLICY_FILE: &str = "/etc/kirikae/kirikae.toml";
/// How long a request to the agent waits at most.
const POLL: Duration = Duration::from_millis(50);

/// How often the agent looks for cgroups of the policy that were created or replaced.
const LOOK: Duration = Duration::from_secs(1);

/// How often what is known of paths is saved, for the case that the agent is killed.
const SAVE: Duration = Duration::from_secs(300);

/// Switch the connections of this host, and say why, until Ctrl-C
///
/// Loads the algorithms and the switcher into the kernel and prints one line for each switch of a
/// connection. Which connections, and how, the policy file says; without one, or with any of the
/// options below, all connections of a cgroup. Those that are open already are taken in, too (from
/// Linux 6.12 on). Programs that choose their congestion control themselves are left alone.
///
/// Ctrl-C and SIGTERM restore every connection and leave nothing behind; SIGHUP reads
/// the policy file again, or where there is none, ends, too. If the agent is killed, the kernel goes on
/// alone; `kirikae undo` or the next `kirikae run` restores everything.
#[derive(clap::Args)]
pub struct Arguments {
    /// The policy file [default: /etc/kirikae/kirikae.toml, where it is there and none of the options
    /// below that it has an entry for is given]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cgroup", "period", "least_rtt", "kernel_timeouts", "table", "friendliness"])]
    config: Option<PathBuf>,
    /// Make choices and tell of them, and change nothing
    #[arg(long)]
    observe: bool,
    /// The cgroup (version 2) whose connections are switched [default: the root, so all]
    #[arg(long, value_name = "DIRECTORY", value_parser = cgroup)]
    cgroup: Option<PathBuf>,
    /// Measuring and switching period: `round-trip` (at least 50 ms) or a time such as `200ms`
    /// [default: round-trip]
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    period: Option<Period>,
    /// Leave connections with a shorter round trip on the algorithm that they have, such as `2ms`
    /// [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    least_rtt: Option<Duration>,
    /// Leave the retransmission timer of the connections as the kernel has it. Otherwise it goes off
    /// sooner, and backs off to at most a second for the first thirty timeouts in a row
    #[arg(long)]
    kernel_timeouts: bool,
    /// Set a parameter of an algorithm, such as kk_hybla.rtt0_us=50000; `kirikae algorithms` lists
    /// them with their ranges. May be given several times
    #[arg(long, value_name = "ALGORITHM.PARAMETER=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    #[command(flatten)]
    choice: Choice,
    /// Print each switch as a line of JSON
    #[arg(long)]
    json: bool,
}

fn cgroup(text: &str) -> Result<PathBuf, String> {
    let directory = PathBuf::from(text);
    // Only version 2 has this file.
    if directory.join("cgroup.controllers").exists() {
        return Ok(directory);
    }
    Err("allowed: a directory of the cgroup v2 hierarchy, such as /sys/fs/cgroup/system.slice"
        .into())
}

fn period(text: &str) -> Result<Period, String> {
    if text == "round-trip" {
        return Ok(Period::RoundTrip);
    }
    let allowed = "`round-trip`, or a time from 1ms to 60s with its unit";
    match humantime::parse_duration(text) {
        Ok(time) if (Duration::from_millis(1)..=Duration::from_secs(60)).contains(&time) => {
            Ok(Period::Fixed(time))
        }
        _ => Err(format!("allowed: {allowed}")),
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    Setting::parse(text, Algorithm::all())
}

/// The policy, the settings and the file that an agent is to be run with.
struct Wanted {
    config: Config,
    /// The file that the policy is from.
    file: Option<PathBuf>,
    seen_by: SeenBy,
}

impl Arguments {
    fn wanted(&self) -> anyhow::Result<Wanted> {
        let cgroup_root = kirikae_agent::cgroup_root()?;
        let (policy, adopt, seen_by, paths, file) = match self.policy_file() {
            Some(file) => {
                let read = PolicyFile::read(file, Host::own(&cgroup_root))?;
                (read.policy, read.adopt, read.status, read.paths, Some(file.to_owned()))
            }
            None => {
                let scope = Scope {
                    matching: Matching {
                        cgroups: self.cgroup.iter().cloned().collect(),
                        ..Matching::default()
                    },
                    period: self.period.unwrap_or_default(),
                    least_rtt: self.least_rtt.unwrap_or(LEAST_RTT),
                    timeouts: if self.kernel_timeouts {
                        Timeouts::Kernel
                    } else {
                        Timeouts::Adapted
                    },
                    warm_start: self.choice.friendliness().into(),
                    ..Scope::new(self.choice.kernel_table()?)
                };
                let adopt = Some(Namespaces::Every);
                (Policy::one(scope), adopt, SeenBy::default(), DEFAULT_PATHS, None)
            }
        };
        let mut candidates: Vec<Algorithm> = Vec::new();
        for scope in &policy.scopes {
            candidates.extend(kirikae_agent::candidates(scope)?);
        }
        candidates.sort_by_key(|candidate| candidate.name());
        candidates.dedup_by_key(|candidate| candidate.name());
        let observed = |scope: Scope| Scope { observed: self.observe || scope.observed, ..scope };
        let config = Config {
            cgroup: self.cgroup.clone().unwrap_or(cgroup_root),
            algorithms: setting::apply(&self.set, candidates.into_iter())?,
            policy: Policy { scopes: policy.scopes.into_iter().map(observed).collect() },
            adopt,
            pinning: Pinning::Pinned,
            paths,
            are_calls_recorded: false,
        };
        Ok(Wanted { config, file, seen_by })
    }

    /// The policy file; None if options take its place, or if there is none.
    fn policy_file(&self) -> Option<&Path> {
        let has_options = self.cgroup.is_some()
            || self.period.is_some()
            || self.least_rtt.is_some()
            || self.kernel_timeouts
            || self.choice.is_given();
        let usual = Path::new(POLICY_FILE);
        self.config.as_deref().or_else(|| (!has_options && usual.exists()).then_some(usual))
    }

    /// Reads the policy file again and makes its policy the active one, all or nothing.
    fn reload(&self, service: &mut Service, before: &Wanted) -> anyhow::Result<()> {
        let Wanted { config, file, seen_by } = self.wanted()?;
        anyhow::ensure!(
            file.is_some(),
            "the agent was started without a policy file: there is nothing to read again"
        );
        anyhow::ensure!(
            seen_by.page == before.seen_by.page,
            "status.page can only be changed by a restart"
        );
        anyhow::ensure!(
            config.paths == before.config.paths,
            "paths.entries can only be changed by a restart"
        );
        tell_warnings(&config.policy);
        Ok(service.reload(&config, &seen_by)?)
    }
}

/// Runs the agent until a signal ends it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let wanted = arguments.wanted()?;
    kirikae_agent::requirements()?;
    // From here on there are others to answer than whoever reads what is printed.
    write_in_background().context("starting to print")?;
    tell_warnings(&wanted.config.policy);
    let stop = Arc::new(AtomicBool::new(false));
    let again = Arc::new(AtomicBool::new(false));
    // Without a policy file SIGHUP ends the agent: after a lost ssh session the kernel must not go on
    // switching unnoticed.
    let hung_up = if wanted.file.is_some() { &again } else { &stop };
    signal_hook::flag::register(SIGHUP, Arc::clone(hung_up))?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let file = wanted.file.as_ref().map(|file| file.display().to_string());
    let mut service = Service::start(&wanted.config, file, &wanted.seen_by)?;
    tell_known("from before", service.load_paths());
    tell_known("from the kernel's metrics", service.seed_paths());
    let served = serve(&mut service, &wanted.seen_by);
    tell!("kirikae: {}; Ctrl-C ends it", begun(&wanted));

    let mut looked_at = Instant::now();
    let mut saved_at = Instant::now();
    if served.is_ok()
        && let Err(error) = notify::ready()
    {
        tell!("kirikae: telling systemd: {error}");
    }
    let mut polled = Ok(());
    while served.is_ok() && polled.is_ok() && !stop.load(Ordering::Relaxed) {
        let mut reload = |service: &mut Service| {
            let done = arguments.reload(service, &wanted);
            match &done {
                Ok(()) => tell!("kirikae: the policy was read again and is in force"),
                Err(error) => tell!("kirikae: the policy stays as it was: {error:#}"),
            }
            done.map_err(|error| format!("{error:#}"))
        };
        if again.swap(false, Ordering::Relaxed) {
            // Whoever sent the signal gets no other answer than what was printed.
            let _ = reload(&mut service);
        }
        if looked_at.elapsed() >= LOOK {
            looked_at = Instant::now();
            tell_alive();
            look(&mut service);
            listen(&mut service);
            tell_refusals(&mut service);
            guard(&mut service);
            follow(&mut service);
            service.note_lines_lost(lines_lost());
            service.serve_page_again().into_iter().for_each(tell_page);
        }
        if saved_at.elapsed() >= SAVE {
            saved_at = Instant::now();
            save(&service);
        }
        let mut on_switch = |switch: &Switch| queue_line(line(switch, arguments.json));
        polled = service.turn(POLL, &mut on_switch, &mut reload);
    }

    let lost = service.events_lost();
    if lost > 0 {
        tell!("kirikae: {lost} switches were made and not reported: too many at once");
    }
    save(&service);
    let status = super::undo::report(&service.stop()?);
    served?;
    polled?;
    Ok(status)
}

/// Forgets what is known of paths that are other ones since the network has changed, and tells of connections whose
/// address is gone.
fn follow(service: &mut Service) {
    match service.follow_network() {
        Ok((forgotten, told)) => {
            if forgotten > 0 {
                tell!("kirikae: the network has changed; paths forgotten: {forgotten}");
            }
            told.iter().for_each(|told| tell!("kirikae: {told}"));
        }
        Err(error) => tell!("kirikae: {error}"),
    }
}

/// Saves what is known of paths.
fn save(service: &Service) {
    if let Err(error) = service.save_paths() {
        tell!("kirikae: {error}");
    }
}

/// Takes in cgroups that were replaced: a service that is restarted is in a new cgroup of the same name.
fn look(service: &mut Service) {
    match service.renew() {
        Ok(true) => tell!("kirikae: cgroups of the policy were made anew and are in force"),
        Ok(false) => {}
        Err(error) => tell!("kirikae: cgroups of the policy were made anew: {error}"),
    }
}

/// Asks again for callbacks that another sock_ops program has taken without regard for ours.
fn listen(service: &mut Service) {
    match service.ask_again() {
        Ok(told) => told.iter().for_each(|told| tell!("kirikae: {told}")),
        Err(error) => tell!("kirikae: {error}"),
    }
}

/// Says that the kernel refuses to switch connections.
fn tell_refusals(service: &mut Service) {
    match service.news_of_refusals() {
        Ok(told) => told.iter().for_each(|told| tell!("kirikae: {told}")),
        Err(error) => tell!("kirikae: {error}"),
    }
}

/// Returns to observing where switching hurts, and says so here and to systemd.
fn guard(service: &mut Service) {
    let before = service.suspended();
    match service.guard() {
        Ok(told) => told.iter().for_each(|told| tell!("kirikae: {told}")),
        Err(error) => tell!("kirikae: guarding the scopes: {error}"),
    }
    let suspended = service.suspended();
    if suspended != before
        && let Err(error) = notify::status(suspended)
    {
        tell!("kirikae: telling systemd: {error}");
    }
}

/// Tells systemd that the loop turns. Where that fails, systemd will end this process.
fn tell_alive() {
    if let Err(error) = notify::alive() {
        tell!("kirikae: telling systemd: {error}");
    }
}

/// Tells how many paths are known from where, if any are, or why that is not known.
fn tell_known(whence: &str, paths: Result<usize, String>) {
    match paths {
        Ok(0) => {}
        Ok(paths) => tell!("kirikae: paths known {whence}: {paths}"),
        Err(error) => tell!("kirikae: {error}"),
    }
}

/// Prints what a policy hardly means, when it is about to be used.
pub fn tell_warnings(policy: &Policy) {
    kirikae_daemon::warnings(policy).iter().for_each(|warning| tell!("kirikae: {warning}"));
}

fn serve(service: &mut Service, seen_by: &SeenBy) -> Result<(), kirikae_daemon::ServeError> {
    kirikae_daemon::serve_commands(service, &seen_by.readers)?;
    if let Some(address) = seen_by.page {
        match service.serve_page(address) {
            Ok(()) => tell_page(address),
            // Whoever has the port is no reason to leave the connections of the host to themselves.
            Err(error) => tell!("kirikae: no page: {error}; it is tried again each minute"),
        }
    }
    Ok(())
}

fn tell_page(address: SocketAddr) {
    tell!("kirikae: page on http://{address}/, metrics on http://{address}/metrics");
}

/// Says in words what is about to be done.
fn begun(wanted: &Wanted) -> String {
    let scopes = &wanted.config.policy.scopes;
    let doing = match scopes.iter().all(|scope| scope.observed) {
        true => "observing, and changing nothing,",
        false => "switching",
    };
    match &wanted.file {
        Some(file) => format!("{doing} by {} ({} scopes)", file.display(), scopes.len()),
        None => format!("{doing} connections of cgroup {}", wanted.config.cgroup.display()),
    }
}

/// What is printed of a switch.
pub fn line(switch: &Switch, json: bool) -> String {
    if json {
        return serde_json::to_string(switch).expect("a switch has a form in JSON");
    }
    format!("{}  {switch}", humantime::format_rfc3339_millis(wall_clock(switch.at_ns)))
}

/// The wall clock at a moment of the kernel's monotonic clock.
pub fn wall_clock(at_ns: u64) -> SystemTime {
    let now = SystemTime::now();
    let Ok(monotonic) = clock_gettime(ClockId::CLOCK_MONOTONIC) else { return now };
    now - Duration::from(monotonic).saturating_sub(Duration::from_nanos(at_ns))
}
