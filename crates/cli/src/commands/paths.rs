//! `kirikae paths`

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::ExitCode;

use ipnet::IpNet;
use kirikae_command::print;
use kirikae_daemon::client;
use kirikae_daemon::status::{ForgottenPaths, ListedPath, PathMemoryStatus, Paths};
use kirikae_terminal::{CellAlignment, Table, table};

/// Tell what is known of the paths to other hosts, or forget it
///
/// What connections have shown of the path to each remote network: new ones begin with it
/// (docs/paths.md). Rates are those at which the path delivered; what it carries in a round trip is that rate
/// times the lowest RTT.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Only paths to these addresses, such as 192.0.2.0/24 or 2001:db8::/32
    #[arg(value_name = "PREFIX", value_parser = prefix)]
    to: Option<IpNet>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    /// What they are ordered by
    #[arg(long, value_enum, default_value = "age")]
    sort: Order,
    #[command(subcommand)]
    change: Option<Change>,
}

#[derive(clap::Subcommand)]
enum Change {
    /// Forget what is known of the paths to some addresses
    ///
    /// In all network namespaces and over all interfaces; 0.0.0.0/0 and ::/0 are all addresses. Needs root.
    Forget {
        /// The addresses, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32
        #[arg(value_name = "PREFIX", value_parser = prefix)]
        to: IpNet,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    /// By the address
    Address,
    /// What was heard of last comes first
    Age,
    /// The shortest comes first
    Rtt,
    /// The fastest comes first
    Rate,
    /// What carries most in a round trip comes first
    Carried,
    /// What most connections began with comes first
    Uses,
}

fn prefix(text: &str) -> Result<IpNet, String> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    let prefix = address.or_else(|_| text.parse::<IpNet>());
    prefix.map(|prefix| prefix.trunc()).map_err(|_| {
        "allowed: an address or a prefix, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32".into()
    })
}

/// Prints what is known, or has it forgotten.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(Change::Forget { to }) = &arguments.change {
        let ForgottenPaths { forgotten } = client::change(&format!("/paths/forget?to={to}"))?;
        anyhow::ensure!(forgotten > 0, "nothing is known of a path to {to}");
        writeln!(io::stdout(), "paths forgotten: {forgotten}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let query = arguments.to.map(|to| format!("?to={to}")).unwrap_or_default();
    let mut known: Paths = client::get(&format!("/paths{query}"))?;
    sort(&mut known.paths, arguments.sort);
    print(&known, || render(&known), arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn sort(paths: &mut [ListedPath], order: Order) {
    let address = |it: &ListedPath| (it.path.remote, it.path.namespace, it.path.interface);
    paths.sort_by_key(|it| {
        let path = &it.path;
        let key = match order {
            Order::Address => 0,
            Order::Age => path.age_s.into(),
            Order::Rtt => path.rtt_us.into(),
            Order::Rate => !path.rate_bit_s.unwrap_or(0),
            Order::Carried => !path.carried_bytes(),
            Order::Uses => !u64::from(path.uses),
        };
        (key, address(it))
    });
}

fn render(known: &Paths) -> String {
    let memory = in_short(&known.memory);
    if known.paths.is_empty() {
        return format!("{memory}\n");
    }
    let mut table = table([
        "to",
        "over",
        "age",
        "RTT ms",
        "Mbit/s",
        "KiB/RTT",
        "losses %",
        "algorithm",
        "uses",
    ]);
    for listed in &known.paths {
        table.add_row(row(listed));
    }
    align(&mut table);
    format!(
        "{memory}\n{table}\n\
         RTT: lowest/usual; KiB/RTT: what the path carries in a round trip; losses: isolated/burst;\n\
         uses: connections that began with it.\n"
    )
}

/// The path memory in a line.
pub fn in_short(PathMemoryStatus { known, room, counts }: &PathMemoryStatus) -> String {
    format!(
        "known: {known} of at most {room}; new connections on these: {}; jumps: {}, first flights: {}, \
         retreats: {}",
        counts.hits, counts.jumps, counts.first_flights, counts.retreats
    )
}

fn align(table: &mut Table) {
    for column in [2, 3, 4, 5, 6, 8] {
        let column = table.column_mut(column).expect("there are nine");
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn row(ListedPath { path, interface_name }: &ListedPath) -> [String; 9] {
    let unknown = || "-".to_owned();
    let interface = interface_name
        .clone()
        .unwrap_or_else(|| format!("{} of netns cookie {}", path.interface, path.namespace));
    let ms = |us: u32| f64::from(us) / 1000.0;
    let share = |losses: u16| f64::from(losses) * 100.0 / f64::from(path.sent.max(1));
    [
        address(path.remote),
        interface,
        age(path.age_s),
        format!("{:.1}/{:.1}", ms(path.rtt_us), ms(path.usual_rtt_us)),
        path.rate_bit_s.map_or_else(unknown, |rate| format!("{:.1}", rate as f64 / 1e6)),
        path.carried_bytes().div_ceil(1024).to_string(),
        match path.sent {
            0 => unknown(),
            _ => format!("{:.2}/{:.2}", share(path.isolated_losses), share(path.burst_losses)),
        },
        path.outcomes.first().map_or_else(unknown, |last| last.algorithm.clone()),
        path.uses.to_string(),
    ]
}

fn address(remote: IpNet) -> String {
    match remote {
        IpNet::V4(address) => address.addr().to_string(),
        IpNet::V6(network) => network.to_string(),
    }
}

fn age(age_s: u32) -> String {
    match age_s {
        0..120 => format!("{age_s} s"),
        120..7200 => format!("{} min", age_s / 60),
        7200..172_800 => format!("{} h", age_s / 3600),
        _ => format!("{} d", age_s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use kirikae_agent::KnownPath;

    use super::*;

    fn listed(remote: &str, age_s: u32, rate_bit_s: Option<u64>) -> ListedPath {
        let path = KnownPath {
            remote: remote.parse().unwrap(),
            namespace: 4_026_531_840,
            interface: 2,
            age_s,
            rtt_us: 120_000,
            usual_rtt_us: 125_300,
            rate_bit_s,
            sent: 1200,
            isolated_losses: 3,
            burst_losses: 1,
            uses: 5,
            ..KnownPath::default()
        };
        ListedPath { path, interface_name: Some("enp65s0f0np0".into()) }
    }

    fn remotes(order: Order) -> Vec<String> {
        let mut paths = [
            listed("192.0.2.9/32", 7, Some(8_000_000)),
            listed("192.0.2.1/32", 300, Some(80_000_000)),
            listed("2001:db8:1234:5678::/64", 3, None),
        ];
        sort(&mut paths, order);
        paths.iter().map(|it| address(it.path.remote)).collect()
    }

    #[test]
    fn orders_are_as_they_say() {
        let v6 = "2001:db8:1234:5678::/64";
        assert_eq!(remotes(Order::Age), [v6, "192.0.2.9", "192.0.2.1"]);
        assert_eq!(remotes(Order::Address), ["192.0.2.1", "192.0.2.9", v6]);
        assert_eq!(remotes(Order::Rate), ["192.0.2.1", "192.0.2.9", v6]);
        assert_eq!(remotes(Order::Carried), ["192.0.2.1", "192.0.2.9", v6]);
    }

    #[test]
    fn a_row_says_what_is_known() {
        let row = row(&listed("192.0.2.9/32", 130, Some(8_000_000)));
        let expected = [
            "192.0.2.9",
            "enp65s0f0np0",
            "2 min",
            "120.0/125.3",
            "8.0",
            "118",
            "0.25/0.08",
            "-",
            "5",
        ];
        assert_eq!(row, expected);
    }

    #[test]
    fn a_prefix_is_an_address_or_a_network() {
        assert_eq!(prefix("192.0.2.7").unwrap().to_string(), "192.0.2.7/32");
        assert_eq!(prefix("192.0.2.7/24").unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(prefix("::/0").unwrap().to_string(), "::/0");
        assert!(prefix("everything").unwrap_err().contains("2001:db8::/32"));
    }
}
