//! The switcher's C: runs of lost segments, rates, choice.

use kirikae_algorithms::{
    Algorithm, Belief, CaState, Estimator, LossRuns, Measured, NoCandidate, Period, Socket, Switch,
    Switcher, ThesisMeasured, exp2_fixed, log2_fixed, period_us, thesis_choose,
};
use kirikae_interface::{latency_table, policy, scope};
use kirikae_table::{Condition, Expectation, Grid, thesis};
use proptest::prelude::*;

const MSS: u32 = 1448;
const MS: u64 = 1000;

/// The runs that result when these segments (by number) are sent again one by one.
fn retransmitted(segments: &[u32]) -> LossRuns {
    let mut runs = LossRuns::default();
    for segment in segments {
        runs.retransmit(segment.wrapping_mul(MSS), 1, MSS);
    }
    runs
}

#[test]
fn up_to_two_in_a_row_are_isolated_three_are_a_burst() {
    let runs = retransmitted(&[1, 2, 10]);
    assert_eq!((runs.isolated(), runs.bursts()), (3, 0));
    let runs = retransmitted(&[1, 2, 3, 10]);
    assert_eq!((runs.isolated(), runs.bursts()), (1, 1));
    let runs = retransmitted(&[1, 2, 3, 4, 5, 6, 20, 21, 22]);
    assert_eq!((runs.isolated(), runs.bursts()), (0, 2));
}

#[test]
fn a_run_is_one_however_many_segments_are_sent_at_a_time() {
    let mut runs = LossRuns::default();
    runs.retransmit(0, 2, 2 * MSS);
    runs.retransmit(2 * MSS, 5, 5 * MSS);
    assert_eq!((runs.isolated(), runs.bursts()), (0, 1));
}

/// Messages of 200 bytes, each sent at once: six in a row are a burst, every other one is not.
#[test]
fn short_segments_make_runs_too() {
    let (mut in_a_row, mut every_other) = (LossRuns::default(), LossRuns::default());
    for i in 0..6 {
        in_a_row.retransmit(200 * i, 1, 200);
        every_other.retransmit(400 * i, 1, 200);
    }
    assert_eq!((in_a_row.isolated(), in_a_row.bursts()), (0, 1));
    assert_eq!((every_other.isolated(), every_other.bursts()), (6, 0));
}

#[test]
fn a_run_goes_on_over_the_wrap_of_sequence_numbers() {
    let mut runs = LossRuns::default();
    runs.retransmit(u32::MAX - 2 * MSS + 1, 2, 2 * MSS);
    runs.retransmit(0, 1, MSS);
    assert_eq!((runs.isolated(), runs.bursts()), (0, 1));
}

#[test]
fn a_lost_retransmission_counts_again() {
    let runs = retransmitted(&[5, 5]);
    assert_eq!((runs.isolated(), runs.bursts()), (2, 0));
}

#[test]
fn what_the_receiver_had_already_was_not_lost() {
    let mut runs = retransmitted(&[5, 9]);
    runs.dsack(1);
    assert_eq!(runs.isolated(), 1);
    runs.dsack(1);
    assert_eq!(runs.isolated(), 1, "the same report counts once");
    runs.dsack(2);
    assert_eq!(runs.isolated(), 0);
}

/// A timeout that was none sends everything again: one burst, until the last report is in.
#[test]
fn a_burst_is_taken_back_when_all_of_it_was_there() {
    let mut runs = retransmitted(&[1, 10, 11, 12, 13]);
    runs.dsack(3);
    assert_eq!((runs.isolated(), runs.bursts()), (1, 1));
    runs.dsack(4);
    assert_eq!((runs.isolated(), runs.bursts()), (1, 0));
    runs.dsack(5);
    assert_eq!((runs.isolated(), runs.bursts()), (0, 0));
}

proptest! {
    /// Against a plain reading of the definition: group into runs, then sort by length.
    #[test]
    fn runs_agree_with_the_definition(gaps in prop::collection::vec(1u32..4, 0..60)) {
        let segments: Vec<u32> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let runs = segments.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).collect::<Vec<_>>();
        let counted = retransmitted(&segments);
        let isolated: usize = runs.iter().filter(|&&length| length <= 2).sum();
        prop_assert_eq!(counted.isolated() as usize, isolated);
        prop_assert_eq!(counted.bursts() as usize, runs.iter().filter(|&&l| l >= 3).count());
    }
}

#[test]
fn period_is_a_round_trip_of_at_least_50_ms_or_fixed() {
    assert_eq!(period_us(0, 200_000), 200_000);
    assert_eq!(period_us(0, 20_000), 50_000);
    assert_eq!(period_us(200_000, 20_000), 200_000);
}

/// Bursts of 46 segments every 2 s; `lost(burst)` of them isolated.
fn rate_after(bursts: u64, lost: impl Fn(u64) -> u32) -> Estimator {
    let (mut estimator, mut runs) = (Estimator::default(), LossRuns::default());
    for burst in 0..bursts {
        for i in 0..lost(burst) {
            runs.retransmit((burst as u32 * 46 + 3 * i) * MSS, 1, MSS);
        }
        let sent = (burst as u32 + 1) * 46;
        estimator.update(&mut runs, (burst + 1) * 2000 * MS, 200 * MS as u32, sent);
    }
    estimator
}

#[test]
fn rate_comes_to_the_share_lost() {
    let estimator = rate_after(200, |_| 1);
    let rate = estimator.isolated_rate();
    assert!((rate - 1.0 / 46.0).abs() < 1e-4, "{rate}");
    assert_eq!(estimator.burst_rate(), 0.0);
}

/// The report of what was not lost comes a round trip later, in another period.
#[test]
fn what_was_not_lost_is_taken_back_from_the_rate() {
    let (mut estimator, mut runs) = (Estimator::default(), LossRuns::default());
    let mut rate_after_period = |period: u32, lost: bool, dsacks: u32| {
        if lost {
            runs.retransmit(period * 46 * MSS, 1, MSS);
        }
        runs.dsack(dsacks);
        let now = u64::from(period) * 200 * MS;
        estimator.update(&mut runs, now, 200 * MS as u32, period * 46);
        estimator.isolated_rate()
    };
    assert_eq!(rate_after_period(1, false, 0), 0.0);
    assert!(rate_after_period(2, true, 0) > 0.0);
    assert_eq!(rate_after_period(3, false, 1), 0.0);
    assert_eq!(rate_after_period(4, false, 9), 0.0, "never below none");
    assert!(rate_after_period(5, true, 9) > 0.0, "and a loss after that counts");
}

#[test]
fn rate_falls_below_the_smallest_of_the_table_after_losses_end() {
    let rate = rate_after(500, |burst| u32::from(burst == 0)).isolated_rate();
    assert!(rate < 1e-5, "{rate}");
}

#[test]
fn a_period_without_traffic_changes_nothing() {
    let (mut estimator, mut runs) = (Estimator::default(), LossRuns::default());
    estimator.update(&mut runs, 1000 * MS, 200_000, 0);
    runs.retransmit(0, 1, MSS);
    assert!(!estimator.update(&mut runs, 1100 * MS, 200_000, 46), "the period is not over");
    assert!(estimator.update(&mut runs, 1200 * MS, 200_000, 46));
    let rate = estimator.isolated_rate();
    assert!(!estimator.update(&mut runs, 9000 * MS, 200_000, 46), "nothing sent: no news");
    assert_eq!(estimator.isolated_rate(), rate);
}

fn chosen(table: &thesis::Table, rtt_ms: u32, isolated: f64, burst: f64, in_use: &str) -> String {
    let names = table.names();
    let measured = ThesisMeasured {
        rtt_us: rtt_ms * 1000,
        isolated_ppb: (isolated * 1e9) as u32,
        burst_ppb: (burst * 1e9) as u32,
        algorithm: names.iter().position(|name| name == in_use).unwrap() as u32,
    };
    names[thesis_choose(table, &measured).0].clone()
}

/// What the thesis says was chosen in the field (sections 6.2 and 6.3).
#[test]
fn choices_are_those_of_the_thesis() {
    let table = thesis::published().unwrap();
    let chosen = |rtt, isolated, burst| chosen(&table, rtt, isolated, burst, "kk_cubic");
    assert_eq!(chosen(200, 0.0, 0.0), "kk_hybla", "no loss");
    assert_eq!(chosen(200, 0.0001, 0.0), "kk_hybla", "0.01 % and less");
    assert_eq!(chosen(210, 0.03, 0.0), "kk_scalable", "high loss at 200 ms");
    assert_eq!(chosen(300, 0.06, 0.0), "kk_hybla", "6 % at 300 ms and more");
    assert_eq!(chosen(2000, 0.5, 0.0), "kk_hybla", "beyond the table: its edge");
    assert_eq!(chosen(120, 0.01, 0.0), "kk_westwood", "1 % at 125 ms and less");
}

/// Step 3: the same burst loss rate means another bandwidth under another algorithm.
#[test]
fn burst_loss_is_read_under_the_algorithm_in_use() {
    let table = thesis::published().unwrap();
    let column = |name| table.names().iter().position(|n| n == name).unwrap() as u32;
    let predicted = |algorithm| {
        let measured =
            ThesisMeasured { rtt_us: 200_000, isolated_ppb: 0, burst_ppb: 4_000_000, algorithm };
        thesis_choose(&table, &measured).1
    };
    // 0.4 %: cubic sees 0.42147 % in row 7, paired in reverse with 3 Mb/s... and westwood sees
    // 0.41338 % in row 9, with 1.6 Mb/s; each with its column of Fig 4-16 and no isolated loss.
    let hybla = column("kk_hybla") as usize;
    let no_loss_us = 158_265;
    assert_eq!(predicted(column("kk_cubic"))[hybla], no_loss_us + 839_500);
    assert_eq!(predicted(column("kk_westwood"))[hybla], no_loss_us + 1_313_883);
}

/// Of an operator who says nothing.
fn usual_policy() -> Box<policy> {
    policy::one(scope::usual())
}

/// A connection of 200 ms in slow start that the switcher has met, with the thesis' tables.
fn met(original: Algorithm) -> (Switcher, Socket) {
    met_by(thesis::published().unwrap(), original)
}

fn met_by(table: Box<thesis::Table>, original: Algorithm) -> (Switcher, Socket) {
    let candidates: Vec<_> =
        table.names().iter().map(|name| Algorithm::named(name).unwrap()).collect();
    let mut switcher = Switcher::thesis(usual_policy(), table, &candidates).unwrap();
    let mut socket = Socket::new(original, MSS);
    socket.fields.tcp_mstamp = 1_000_000;
    switcher.met(&mut socket);
    (switcher, socket)
}

/// A round trip in which so many segments were sent ends with an RTT sample.
fn round_trip(switcher: &mut Switcher, socket: &mut Socket, sent: u32) -> Option<Switch> {
    let fields = &mut socket.fields;
    fields.tcp_mstamp += 200_000;
    fields.data_segs_out += sent;
    fields.srtt_us = 200_000 << 3;
    fields.rtt_min.s[0].v = 200_000;
    switcher.rtt_sample(socket, 200_000)
}

fn stock(name: &str) -> Algorithm {
    Algorithm::stock(name).unwrap()
}

/// The first sample tells the round-trip time, and at 200 ms without loss Hybla is fastest.
#[test]
fn a_connection_is_switched_to_the_candidate_that_answers_soonest() {
    let (mut switcher, mut socket) = met(stock("cubic"));
    let switch = round_trip(&mut switcher, &mut socket, 10).unwrap();
    assert_eq!((switch.from, switch.to.name()), (stock("cubic"), "kk_hybla"));
    assert_eq!(socket.algorithm(), switch.to);
    assert_eq!((switch.rtt_us, switch.isolated_ppb, switch.burst_ppb), (200_000, 0, 0));
    let measured = ThesisMeasured { rtt_us: 200_000, isolated_ppb: 0, burst_ppb: 0, algorithm: 0 };
    let (_, alone) = thesis_choose(&thesis::published().unwrap(), &measured);
    let predicted: Vec<u32> = switch.predicted_us.iter().map(|(_, us)| *us).collect();
    assert_eq!(predicted, alone[..predicted.len()]);
    assert_eq!(round_trip(&mut switcher, &mut socket, 10), None, "and stays there");
}

/// What an operator has set of a candidate holds for every connection that takes it up.
#[test]
fn a_candidate_keeps_its_parameters() {
    let table = thesis::published().unwrap();
    let set = |name: &String| Algorithm::named(name).unwrap().with("idle_keep", 0).unwrap();
    let candidates: Vec<_> = table.names().iter().map(set).collect();
    let mut switcher = Switcher::thesis(usual_policy(), table.clone(), &candidates).unwrap();
    let mut socket = Socket::new(stock("cubic"), MSS);
    switcher.met(&mut socket);
    let switch = round_trip(&mut switcher, &mut socket, 10).unwrap();
    assert_eq!(switch.to, Algorithm::named("kk_hybla").unwrap().with("idle_keep", 0).unwrap());

    let without_hybla: Vec<_> =
        candidates.into_iter().filter(|candidate| candidate.name() != "kk_hybla").collect();
    let refused = Switcher::thesis(usual_policy(), table, &without_hybla).err().unwrap();
    assert_eq!(refused, NoCandidate("kk_hybla".into()));
}

/// Of each 100 segments three are lost, one by one: at 200 ms Scalable answers sooner than Hybla.
#[test]
fn losses_move_the_choice() {
    let (mut switcher, mut socket) = met(stock("cubic"));
    round_trip(&mut switcher, &mut socket, 10).unwrap();
    let switch = (0..40u32).find_map(|round| {
        for lost in 0..3 {
            let seq = (round * 100 + 10 * lost) * MSS;
            switcher.retransmitted(&mut socket, seq, 1);
        }
        round_trip(&mut switcher, &mut socket, 100)
    });
    let switch = switch.expect("is switched");
    assert_eq!((switch.from.name(), switch.to.name()), ("kk_hybla", "kk_scalable"));
    assert!((1_000_000..40_000_000).contains(&switch.isolated_ppb), "{switch:?}");
    assert_eq!(switch.burst_ppb, 0);
}

/// The kernel's cubic is described by the column of ours, wherever that is in the table.
#[test]
fn the_kernels_own_is_described_by_the_column_that_also_means_it() {
    let rates_under = |also: usize| {
        let mut table = thesis::published().unwrap();
        let cubic = std::mem::take(&mut table.also[0]);
        table.also[also] = cubic;
        let (mut switcher, mut socket) = met_by(table, stock("cubic"));
        // Fifteen bursts of three in 3000 segments, before the first choice: the window is being
        // reduced until then.
        socket.set_state(CaState::Cwr);
        for round in 0..15u32 {
            switcher.retransmitted(&mut socket, round * 200 * MSS, 3);
            assert_eq!(round_trip(&mut switcher, &mut socket, 200), None);
        }
        socket.set_state(CaState::Open);
        round_trip(&mut switcher, &mut socket, 1).unwrap().predicted_us
    };
    assert_ne!(rates_under(0), rates_under(3), "0.5 % is another bandwidth under Westwood");
}

#[test]
fn no_switch_in_recovery_but_after_it() {
    let (mut switcher, mut socket) = met(stock("cubic"));
    for state in [CaState::Cwr, CaState::Recovery, CaState::Loss] {
        socket.set_state(state);
        assert_eq!(round_trip(&mut switcher, &mut socket, 10), None, "{state:?}");
    }
    socket.set_state(CaState::Open);
    assert!(round_trip(&mut switcher, &mut socket, 0).is_some(), "the choice is still due");
}

/// Where packets overtake each other all the time, the connection is hardly ever Open.
#[test]
fn disorder_is_no_recovery() {
    let (mut switcher, mut socket) = met(stock("cubic"));
    socket.set_state(CaState::Disorder);
    assert!(round_trip(&mut switcher, &mut socket, 10).is_some());
}

#[test]
fn a_program_that_chose_itself_is_left_alone() {
    let (mut switcher, mut socket) = met(stock("cubic"));
    socket.switch_to(Algorithm::named("kk_reno").unwrap());
    for _ in 0..5 {
        assert_eq!(round_trip(&mut switcher, &mut socket, 10), None);
    }
    assert_eq!(socket.algorithm().name(), "kk_reno");

    let mut chosen = Socket::new(stock("cubic"), MSS);
    chosen.fields.inet_conn.set_icsk_ca_setsockopt(1);
    switcher.met(&mut chosen);
    assert!(chosen.connection.is_none());
    assert_eq!(round_trip(&mut switcher, &mut chosen, 10), None);
}

/// While it measures the RTT its window is 4; whoever follows would go on with that.
#[test]
fn bbr_is_not_left_in_probe_rtt() {
    let (mut switcher, mut socket) = met(stock("bbr"));
    socket.fields.snd_cwnd = 4;
    assert_eq!(round_trip(&mut switcher, &mut socket, 10), None);
    socket.fields.snd_cwnd = 40;
    assert_eq!(round_trip(&mut switcher, &mut socket, 10).unwrap().to.name(), "kk_hybla");
}

#[test]
fn logarithms_are_within_a_hundredth() {
    for value in [1u32, 2, 3, 5, 100, 1000, 1448, 65_536, 99_999_999, u32::MAX] {
        let exact = f64::from(value).log2();
        assert!((f64::from(log2_fixed(value)) / 256.0 - exact).abs() < 0.01, "of {value}");
        let back = exp2_fixed(log2_fixed(value)) as f64 / f64::from(value);
        assert!((0.98..1.02).contains(&back) || value < 100, "of {value}: {back}");
    }
    assert_eq!(log2_fixed(0), 0);
}

/// Two algorithms at an RTT of 100 and 400 ms. Under the first condition, a channel that loses
/// 3 %, whoever sends, `kk_hybla` is twice as fast; under the second, a queue that only hybla
/// overflows, `kk_bbr` is.
fn two_conditions() -> kirikae_table::LatencyTable {
    let condition = |loss, queue| Condition { loss, burst_loss: 0.0, queue };
    let grid = Grid {
        rtts_us: vec![100_000, 400_000],
        rates: vec![1_000_000, 10_000_000],
        bursts: vec![65_536],
        streams: vec![],
        conditions: vec![condition(0.03, 1000), condition(0.0, 10)],
    };
    let expectations = grid.places().flat_map(|place| {
        let rtt_s = f64::from(place.rtt_us) / 1e6;
        let of = |latency_s, isolated| Expectation { latency_s, isolated, bursts: 0.0 };
        if place.condition.loss > 0.0 {
            [of(rtt_s, 0.03), of(2.0 * rtt_s, 0.03)]
        } else {
            [of(2.0 * rtt_s, 0.03), of(rtt_s, 0.0)]
        }
    });
    kirikae_table::LatencyTable {
        origin: Vec::new(),
        expectations: expectations.collect(),
        grid,
        algorithms: vec!["kk_hybla".into(), "kk_bbr".into()],
        barred_in_bulk: Vec::new(),
    }
}

fn conditions_table() -> Box<latency_table> {
    two_conditions().kernel_table()
}

const MEASURED: Measured =
    Measured { rtt_us: 100_000, rate: 1250, burst: 65_536, share: 0, latency_us: 0 };

/// 46 segments, so many of them lost one by one, with the algorithm in the column in use.
fn after_bursts(belief: &mut Belief, bursts: u32, isolated: i32, algorithm: usize) {
    let period = Period { sent: 46, isolated, bursts: 0 };
    for _ in 0..bursts {
        belief.update(&conditions_table(), &MEASURED, algorithm, &period);
    }
}

/// The same losses mean another condition under another algorithm.
#[test]
fn losses_that_end_with_an_algorithm_were_its_own() {
    let mut belief = Belief::default();
    assert_eq!(belief.weights(2), [0.5, 0.5], "nothing is known");
    after_bursts(&mut belief, 20, 1, 0);
    // But for the little that was forgotten, towards what was likely beforehand.
    let undecided = belief.weights(2);
    assert!((undecided[0] - 0.5).abs() < 0.02, "hybla loses as much under both: {undecided:?}");

    let mut own = belief.clone();
    after_bursts(&mut own, 10, 0, 1);
    assert!(own.weights(2)[1] > 0.99, "{:?}", own.weights(2));
    let mut channel = belief;
    after_bursts(&mut channel, 3, 1, 1);
    assert!(channel.weights(2)[0] > 0.99, "{:?}", channel.weights(2));
}

/// However long it was certain, it is not for ever.
#[test]
fn a_belief_follows_a_change() {
    let mut belief = Belief::default();
    after_bursts(&mut belief, 10_000, 0, 1);
    assert!(belief.weights(2)[1] > 0.999);
    after_bursts(&mut belief, 3, 2, 1);
    assert!(belief.weights(2)[0] > 0.9, "{:?}", belief.weights(2));
}

#[test]
fn a_prediction_is_between_the_points_and_the_conditions() {
    let mut belief = Belief::default();
    let predicted = |belief: &Belief, rtt_us| {
        let measured = Measured { rtt_us, ..MEASURED };
        belief.predict(&conditions_table(), &measured)
    };
    // Steps of 1/64 between the points, and parabolas for logarithms.
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.03;
    let unknown = predicted(&belief, 100_000);
    assert!(near(unknown[0].latency_s, 0.15) && near(unknown[1].latency_s, 0.15), "{unknown:?}");
    assert!(near(unknown[0].regret, 1.5), "{unknown:?}");
    after_bursts(&mut belief, 50, 1, 1);
    let known = predicted(&belief, 200_000);
    assert!(near(known[0].latency_s, 0.2) && near(known[1].latency_s, 0.4), "{known:?}");
    assert!(near(known[0].regret, 1.0) && near(known[1].regret, 2.0), "{known:?}");
    let beyond = predicted(&belief, 4_000_000);
    assert!(near(beyond[0].latency_s, 0.4), "the edge: {beyond:?}");
}

/// A connection that a switcher with these has met.
fn met_under_two_conditions() -> (Switcher, Socket) {
    let table = two_conditions().kernel_table();
    let candidates = ["kk_hybla", "kk_bbr"].map(|name| Algorithm::named(name).unwrap());
    let mut switcher = Switcher::new(usual_policy(), vec![table.into()], &candidates).unwrap();
    let mut socket = Socket::new(stock("cubic"), MSS);
    socket.fields.tcp_mstamp = 1_000_000;
    switcher.met(&mut socket);
    (switcher, socket)
}

/// What a choice is made of in a connection: losses while bbr is in use are the channel's.
#[test]
fn a_connection_is_switched_by_what_it_lost() {
    let (mut switcher, mut socket) = met_under_two_conditions();
    let first = round_trip(&mut switcher, &mut socket, 10).unwrap();
    assert_eq!(first.to.name(), "kk_hybla", "between equals the first");
    for round in 0..20u32 {
        switcher.retransmitted(&mut socket, round * 46 * MSS, 1);
        assert_eq!(round_trip(&mut switcher, &mut socket, 46), None, "no news");
    }
    let losses = socket.losses().unwrap();
    assert_eq!((losses.segments, losses.isolated, losses.bursts), (920, 20, 0));
    // An algorithm that never loses would have been better off without the channel's losses.
    let second = (0..40).find_map(|_| round_trip(&mut switcher, &mut socket, 46));
    assert_eq!(second, None, "hybla without losses: neither condition, and no reason to switch");
}

/// Where both conditions are about as likely, `kk_bbr` is expected to be a fifth faster than the algorithm
/// in use, kk_hybla. Bursts were measured to take so long with that; after a few round trips, what is
/// switched to.
fn choices_after(
    switcher: &mut Switcher,
    socket: &mut Socket,
    latency_us: u32,
) -> Option<&'static str> {
    let connection = socket.connection.as_mut().unwrap();
    (connection.bursts.counted, connection.bursts.latency_us) = (16, latency_us);
    // Answers: it is the program that says how much there is to send.
    socket.fields.app_limited = 1;
    (0..6).find_map(|_| {
        let connection = socket.connection.as_mut().unwrap();
        (connection.belief.weight_log[0], connection.belief.weight_log[1]) = (-207, 0);
        round_trip(switcher, socket, 1).map(|switch| switch.to.name())
    })
}

fn hybla_where_bbr_is_expected_to_be_better() -> (Switcher, Socket) {
    let (mut switcher, mut socket) = met_under_two_conditions();
    assert_eq!(round_trip(&mut switcher, &mut socket, 10).unwrap().to.name(), "kk_hybla");
    (switcher, socket)
}

#[test]
fn what_answers_as_soon_as_the_best_should_is_kept() {
    let (mut switcher, mut socket) = hybla_where_bbr_is_expected_to_be_better();
    assert_eq!(choices_after(&mut switcher, &mut socket, 200_000), None);
}

#[test]
fn an_algorithm_that_was_left_is_taken_again_where_the_other_answers_later() {
    let (mut switcher, mut socket) = hybla_where_bbr_is_expected_to_be_better();
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), Some("kk_bbr"));
    assert_eq!(choices_after(&mut switcher, &mut socket, 600_000), Some("kk_hybla"));
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), None, "not tried again at once");
    socket.connection.as_mut().unwrap().bursts.begun += 64;
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), Some("kk_bbr"));
    assert_eq!(choices_after(&mut switcher, &mut socket, 300_000), None, "this time it is better");
}

#[test]
fn what_is_slower_than_another_was_is_left_however_little_was_predicted_of_it() {
    let (mut switcher, mut socket) = hybla_where_bbr_is_expected_to_be_better();
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), Some("kk_bbr"));
    assert_eq!(choices_after(&mut switcher, &mut socket, 2_000_000), Some("kk_hybla"));
    let since = socket.connection.as_ref().unwrap().bursts.begun;
    let mut after = |occasions, latency_us| {
        socket.connection.as_mut().unwrap().bursts.begun = since + occasions;
        choices_after(&mut switcher, &mut socket, latency_us)
    };
    assert_eq!(after(63, 900_000), None, "far more than predicted, and less than kk_bbr took");
    assert_eq!(after(64, 900_000), Some("kk_bbr"), "of which that is forgotten");
}

#[test]
fn what_bursts_took_says_nothing_of_a_stream() {
    /// LOAD_STREAM of connection.h.
    const STREAM: u16 = 1;
    let (mut switcher, mut socket) = hybla_where_bbr_is_expected_to_be_better();
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), Some("kk_bbr"));
    assert_eq!(choices_after(&mut switcher, &mut socket, 2_000_000), Some("kk_hybla"));
    let outcomes = &mut socket.connection.as_mut().unwrap().outcomes;
    outcomes.by_column.iter_mut().for_each(|outcome| outcome.load = STREAM);
    assert_eq!(choices_after(&mut switcher, &mut socket, 500_000), Some("kk_bbr"));
}
