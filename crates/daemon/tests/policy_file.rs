//! Tests of policy files: the one that ships is read, and wrong ones are refused.

use std::fs;
use std::path::Path;

use kirikae_agent::Namespaces;
use kirikae_daemon::{Addresses, Host, PolicyFile, Readers, SeenBy};
use kirikae_policy::{Objective, Policy, Scope};
use kirikae_settings::section::Source;

const SHIPPED: &str = include_str!("../../../packaging/kirikae.toml");

/// A hierarchy with one cgroup.
fn cgroups() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let cgroup = root.path().join("system.slice/ssh.service");
    fs::create_dir_all(&cgroup).unwrap();
    fs::write(cgroup.join("cgroup.controllers"), "").unwrap();
    root
}

/// One with a group and a network namespace.
fn host(cgroup_root: &Path) -> Host<'_> {
    let has_group = |name: &str| name == "adm";
    let is_namespace = |file: &Path| file == Path::new("/run/netns/web");
    Host { cgroup_root, can_destroy: true, has_group, is_namespace }
}

fn parse(text: &str) -> Result<PolicyFile, String> {
    let root = cgroups();
    let source = Source::new("kirikae.toml", text);
    PolicyFile::parse(&source, host(root.path())).map_err(|it| it.to_string())
}

/// The policy in words, without the tables.
fn told(policy: &Policy) -> Vec<String> {
    let without_table = |scope: &kirikae_policy::Scope| {
        format!(
            "{} {:?} {:?} {:?} {:?} {} {} {} {} {} {:?} {:?}",
            scope.name,
            scope.matching,
            scope.objective,
            scope.period,
            scope.timeouts,
            scope.idle_keep,
            scope.respect_application,
            scope.observed,
            scope.holdback,
            scope.guard,
            scope.hysteresis,
            scope.when_address_gone
        )
    };
    policy.scopes.iter().map(without_table).collect()
}

/// Sets the share that is held back to 0, since the file that ships sets another than the usual.
fn hold_nothing_back(mut file: PolicyFile) -> PolicyFile {
    assert_eq!(file.policy.scopes[0].holdback, 0.02);
    file.policy.scopes[0].holdback = 0.0;
    file
}

#[test]
fn the_file_that_ships_says_what_holds_anyway() {
    let shipped = hold_nothing_back(parse(SHIPPED).unwrap());
    let empty = parse("").unwrap();
    assert_eq!(told(&shipped.policy), told(&empty.policy));
    let quiet = SeenBy { are_switches_printed: false, ..empty.status };
    assert_eq!(shipped.status, quiet, "nothing is kept in the journal");
    assert_eq!(shipped.paths, empty.paths);
    assert_eq!(shipped.adopt, Some(Namespaces::Every));
}

/// The example in a commented line, without the comment sign.
fn is_example(line: &str) -> Option<&str> {
    line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_lowercase() || c == '['))
}

/// Uncomments the examples of the file: all of them are allowed, and those that show a usual value change
/// nothing.
#[test]
fn every_example_of_the_file_that_ships_is_allowed() {
    let left_out = ["table =", "page =", "cgroup =", "local-port =", "remote =", "algorithms ="];
    let all: String = SHIPPED
        .lines()
        .filter(|line| !line.contains("my-table.csv"))
        .map(|line| format!("{}\n", is_example(line).unwrap_or(line)))
        .collect();
    let usual: String = SHIPPED
        .lines()
        .filter(|line| !left_out.iter().any(|key| line[1.min(line.len())..].starts_with(key)))
        .map(|line| format!("{}\n", is_example(line).unwrap_or(line)))
        .collect();
    let usual = hold_nothing_back(parse(&usual).unwrap());
    assert_eq!(told(&usual.policy), told(&parse("").unwrap().policy));
    let all = parse(&all).unwrap();
    assert_eq!(all.status.page, Some("127.0.0.1:8425".parse().unwrap()));
    let scope = &all.policy.scopes[0];
    assert!(scope.matching.cgroups[0].ends_with("system.slice/ssh.service"));
    assert_eq!(scope.matching.local_ports, [22..=22, 5900..=5999]);
    assert_eq!(scope.matching.remotes.len(), 2);
    assert_eq!(scope.table.names(), ["kk_cubic", "kk_westwood"]);
}

#[test]
fn scopes_are_as_the_file_says() {
    let file = parse(
        "adopt = ['/run/netns/web']\n[status]\nreaders = 'group:adm'\n\
         addresses = 'prefix'\nprint = 'nothing'\n\
         [paths]\nentries = 1000000\n\
         [[scope]]\nname = 'desks'\nlocal-port = 3389\nobjective = 'throughput'\n\
         holdback = 0.25\nobserve = true\n[[scope]]\nremote = '198.51.100.7'",
    )
    .unwrap();
    assert_eq!(file.adopt, Some(Namespaces::Named(vec!["/run/netns/web".into()])));
    let status = SeenBy {
        readers: Readers::Group("adm".into()),
        page: None,
        addresses: Addresses::Prefix,
        are_switches_printed: false,
    };
    assert_eq!(file.status, status);
    assert_eq!(file.paths, 1_000_000);
    let [desks, rest] = &file.policy.scopes[..] else { panic!("two scopes") };
    assert_eq!((desks.name.as_str(), desks.objective), ("desks", Objective::Throughput));
    assert!(desks.observed && desks.holdback == 0.25);
    assert_eq!(
        (rest.name.as_str(), rest.matching.remotes[0].to_string()),
        ("scope 2", "198.51.100.7/32".into())
    );
}

#[test]
fn what_is_not_allowed_is_refused_with_line_and_key() {
    let cases = [
        (
            "adopt = ['/run/netns/web', '/run/netns/none']",
            "kirikae.toml:1: adopt[1]: found '/run/netns/none'; allowed: the file of a network namespace",
        ),
        (
            "[status]\nreaders = 'group:nobodyhere'",
            "kirikae.toml:2: status.readers: found 'group:nobodyhere'; allowed: a group that this host",
        ),
        ("adopt = 1", "kirikae.toml:1: adopt: found 1; allowed: \"every\", \"none\", or a list"),
        (
            "\nscopes = 1",
            "kirikae.toml:2: scopes: unknown key; allowed: adopt, table, status, paths, scope (did",
        ),
        (
            "[[scope]]\ncgroup = 'system.slice'",
            "kirikae.toml:2: scope[0].cgroup: found 'system.slice'; allowed: a cgroup v2",
        ),
        ("[[scope]]\nlocal-port = 0", "scope[0].local-port: found 0; allowed: a port or a range"),
        (
            "[[scope]]\ncgroup = '1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16'",
            "at most 15 levels below that",
        ),
        ("[[scope]]\nlocal-port = '9-8'", "scope[0].local-port: found '9-8'"),
        ("[[scope]]\nlocal-port = [1, 70000]", "scope[0].local-port[1]: found 70000"),
        ("[[scope]]\nremote = '10.0.0.0/33'", "scope[0].remote: found '10.0.0.0/33'"),
        ("[[scope]]\nremote = []", "scope[0].remote: found []; allowed: at least one"),
        ("[[scope]]\nobjective = 'speed'", "allowed: latency, throughput"),
        ("[[scope]]\nfriendliness = 'fats'", "balanced, fast (did you mean fast?)"),
        (
            "[[scope]]\nalgorithms = ['reno']",
            "a list of candidates of the latency table: cubic, kk_cubic",
        ),
        (
            "[[scope]]\nalgorithms = ['kk_hybla']\nfriendliness = 'friendly'",
            "kirikae.toml:3: scope[0].friendliness",
        ),
        ("[[scope]]\nperiod = '2 min'", "scope[0].period: found '2 min'"),
        ("[[scope]]\nhysteresis = { margin = 2 }", "scope[0].hysteresis.margin: found 2"),
        ("[[scope]]\nholdback = 1.5", "scope[0].holdback: found 1.5"),
        (
            "[[scope]]\nwhen-address-gone = 'wait'",
            "scope[0].when-address-gone: found 'wait'; allowed: tell, destroy",
        ),
        ("[[scope]]\nname = ''", "scope[0].name"),
        ("[[scope]]\nname = 'a'\n[[scope]]\nname = 'a'", "a second scope named a"),
        ("[status]\nreaders = 'me'", "status.readers: found 'me'"),
        ("[status]\npage = '0.0.0.0:80'", "beyond-loopback = true"),
        (
            "\n[paths]\nentries = 1000001",
            "kirikae.toml:3: paths.entries: found 1000001; allowed: a whole number from 4 to 1000000",
        ),
        ("[paths]\nentries = 3", "paths.entries: found 3; allowed"),
        ("[paths]\nfile = 'x'", "paths.file: unknown key; allowed: entries"),
        ("table = 'none.csv'", "kirikae.toml:1: table: none.csv cannot be read"),
        ("x", "kirikae.toml:1: not TOML"),
    ];
    for (text, told) in cases {
        let refusal = parse(text).unwrap_err();
        assert!(refusal.contains(told), "{text}\n{refusal}");
    }
    assert_eq!(
        parse("[status]\npage = '0.0.0.0:80'\nbeyond-loopback = true")
            .unwrap()
            .status
            .page
            .unwrap()
            .port(),
        80
    );
    let many = "[[scope]]\n".repeat(17);
    assert!(parse(&many).unwrap_err().contains("1 to 16"));
    let ports: Vec<String> = (1..=257).map(|port| port.to_string()).collect();
    let refusal = parse(&format!("[[scope]]\nlocal-port = [{}]", ports.join(","))).unwrap_err();
    assert!(refusal.contains("257 combinations") && refusal.contains("at most 256"), "{refusal}");
}

#[test]
fn destroying_is_refused_where_the_kernel_cannot() {
    let text = "[[scope]]\nname = 'a'\n[[scope]]\nwhen-address-gone = 'destroy'";
    let scopes = parse(text).unwrap().policy.scopes;
    assert_eq!(scopes.iter().map(Scope::destroys).collect::<Vec<_>>(), [false, true]);
    assert_eq!(scopes[1].unusual(), ["destroyed when their address is gone"]);
    let source = Source::new("kirikae.toml", text);
    let host = Host { can_destroy: false, ..host(Path::new("/")) };
    let refusal = PolicyFile::parse(&source, host).unwrap_err().to_string();
    assert!(
        refusal
            .contains("kirikae.toml:4: scope[1].when-address-gone: found 'destroy'; allowed: tell")
            && refusal.contains("Linux 6.5"),
        "{refusal}"
    );
}

#[test]
fn a_table_is_looked_for_beside_the_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("my.csv"), "# not a table\n").unwrap();
    let file = directory.path().join("kirikae.toml");
    fs::write(&file, "table = 'my.csv'").unwrap();
    let refusal = PolicyFile::read(&file, host(Path::new("/"))).unwrap_err().to_string();
    assert!(
        refusal.contains("kirikae.toml:1: table:") && refusal.contains("my.csv: line 1"),
        "{refusal}"
    );
}
