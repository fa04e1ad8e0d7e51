//! Stack profiles: how a host's TCP behaves, as data.

use kirikae_path::Span;
use serde::Serialize;

/// How a host's TCP behaves beside its congestion control.
///
/// A scenario names one and may override single features. Times in jiffies are rounded up as the
/// kernel's timer wheel does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// The name of the profile in scenario files.
    pub name: &'static str,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Initial congestion window and window after idle, segments (RFC 6928, RFC 3390).
    pub initial_window: u32,
    /// How losses are found.
    pub loss_detection: LossDetection,
    /// RACK does not wait if [`reordering`](Profile::reordering) segments above a hole were SACKed and no
    /// reordering was seen (RFC 8985, section 6.2, step 4: the shortcut by dupthresh).
    pub rack_shortcut: bool,
    /// Tail loss probes (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// How the window is reduced in recovery.
    pub reduction: Reduction,
    /// How many segments above a hole have to be SACKed before the hole counts as lost: the dupthresh of RFC
    /// 5681.
    pub reordering: u32,
    /// Selective acknowledgements, DSACK included (RFC 2018, RFC 2883).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323); without it windows end at 65,535 bytes.
    pub window_scaling: bool,
    /// Whether ECN is asked for and granted (RFC 3168).
    pub ecn: bool,
    /// Whether the window falls back after an idle RTO (RFC 5681, section 4.1).
    pub idle_restart: bool,
    /// Whether spurious timeouts are found and undone (F-RTO, RFC 5682).
    pub frto: bool,
    /// Whether wrong reductions are undone (by DSACK or timestamps).
    pub undo: bool,
    /// Whether segments become smaller if the path may be dropping them for their size (RFC 4821;
    /// tcp_mtu_probing = 1).
    pub mtu_probing: bool,
    /// Whether a timeout after a timeout leaves ssthresh as it is (RFC 5681, section 3.1), and so does one in a
    /// fast recovery (Linux). Otherwise each timeout sets it anew (RFC 2581).
    pub hold_ssthresh: bool,
    /// Whether growth counts segments that are ACKed (RFC 3465). Otherwise each ACK counts as one.
    pub count_segments: bool,
    /// When the window grows.
    pub growth: Growth,
    /// Whether an ACK in doubt (Disorder, Loss, and until something sent after a recovery is ACKed) cuts the
    /// window to what is in flight and [`reordering`](Profile::reordering) more, so that no train leaves
    /// (Linux before 3.2).
    pub moderate_window: bool,
    /// The least that a retransmission timeout allows for the variation of the RTT (RFC 6298).
    pub rto_min: Span,
    /// Highest retransmission timeout, back-off included.
    pub rto_max: Span,
    /// Retransmission timeout before any RTT sample.
    pub rto_initial: Span,
    /// Whether ACKs wait for a second segment (RFC 5681, section 4.2). Otherwise each segment is ACKed at
    /// once.
    pub delayed_ack: bool,
    /// Shortest delay of an ACK.
    pub delayed_ack_min: Span,
    /// Longest delay of an ACK.
    pub delayed_ack_max: Span,
    /// Whether a full segment that ends a write is ACKed as soon as the application has read it, as short
    /// ones are (Linux 6.6).
    pub ack_full_push: bool,
    /// Compression of ACKs that tell of holes: at most one is sent for so many segments, or in this time, or
    /// in a twentieth of the round trip if that is less. None: each is sent at once.
    pub sack_compression: Option<Compression>,
    /// Receive buffer at the start, bytes of data. It is the part of `tcp_rmem[1]` that holds data when a
    /// segment of 1,448 bytes takes 2,304 of memory, as over Ethernet. The receive window opens up to it as
    /// segments arrive, and further as the application reads.
    pub receive_buffer: u32,
    /// The largest window told with the first ACK of data, bytes; SYNs have no more than 64 KiB. Since Linux
    /// 6.10 it is at least four fifths of the buffer: the kernel has seen no segment yet, and takes them to
    /// need twice their bytes. The rest of the buffer is told as segments arrive, each of which is ACKed at
    /// once.
    pub receive_window_initial: u32,
    /// The largest size to which the receive buffer may grow, bytes.
    pub receive_window_max: u32,
    /// The largest size to which the send buffer may grow, bytes (`tcp_wmem[2]`).
    pub send_buffer_max: u32,
    /// The program writes no more while this much has not been sent, bytes, and goes on at half of it
    /// (`tcp_notsent_lowat`).
    pub notsent_lowat: u32,
    /// Ticks of the timers a second, at least 1; they go off at a tick, rounded up as in the timer wheel.
    pub hz: u32,
    /// Whether segments of one write leave in trains (TSO), for which a little of the window is held back.
    pub segmentation_offload: bool,
    /// What is done when a link under a mobile host goes and comes back.
    pub handover: Handover,
    /// With [`Handover::Freeze`]: how long before the link goes the mobile host closes its window.
    pub freeze_ahead: Span,
}

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// RACK finds them by time (RFC 8985).
    Rack,
    /// The highest SACKed segment shows them: FACK (Mathis and Mahdavi 1996).
    Fack,
    /// SACKed segments above show them (RFC 6675), or duplicate ACKs without SACK (RFC 6582).
    Duplicates,
    /// SACKed segments or duplicate ACKs show them, and so does the time with each ACK: Cubic+ (Fukuda 2019).
    DuplicatesOrTime,
}

/// What a mobile host and its peer do when a link goes and comes back (Tsukamoto, Fukuda, Hori, Oie 2003).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handover {
    /// Nothing is done: the sender waits for its timer.
    None,
    /// The mobile host tells its peer that the link is back. The peer takes what was in flight for lost, as
    /// after a timeout.
    ImmediateExpiration,
    /// The same, and ssthresh becomes the bandwidth-delay product that is measured in the slow start that
    /// follows.
    BandwidthAware,
    /// The mobile host closes its window before the link goes, and opens it when the link is back; timeouts
    /// wait meanwhile (Freeze-TCP: Goff, Moronski, Phatak, Gupta 2000).
    Freeze,
}

/// When the window grows with an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// It grows after the ACK's news of losses is processed. It grows if the window was the limit of the
    /// latest flight, or if in slow start half of it was used (RFC 7661).
    Validated,
    /// It grows before that, if what was in flight left next to nothing of the window: so not while a write
    /// runs out (Linux before 3.16).
    InFlight,
}

/// How the window is reduced to ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Proportional rate reduction brings it down (RFC 6937).
    Proportional,
    /// It falls by one segment for every two ACKs (Hoe 1995).
    RateHalving,
    /// It falls at once: nothing new is sent until what is in flight is down to ssthresh. Without SACK that
    /// is the inflated window of RFC 6582, section 3.2.
    AtOnce,
}

/// The limits of compressed ACKs: [`Profile::sack_compression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compression {
    /// The longest wait.
    pub delay: Span,
    /// The largest number of segments that one ACK tells of.
    pub segments: u32,
}

impl Profile {
    /// Linux 6.12 to 6.18 as a distribution ships it, `linux-6`.
    pub fn linux_6() -> Profile {
        Profile {
            name: "linux-6",
            mtu: 1_500,
            initial_window: 10,
            loss_detection: LossDetection::Rack,
            rack_shortcut: true,
            tail_loss_probe: true,
            reduction: Reduction::Proportional,
            reordering: 3,
            sack: true,
            timestamps: true,
            window_scaling: true,
            ecn: false,
            idle_restart: true,
            frto: true,
            undo: true,
            mtu_probing: false,
            hold_ssthresh: true,
            count_segments: true,
            growth: Growth::Validated,
            moderate_window: false,
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(120),
            rto_initial: Span::from_secs(1),
            delayed_ack: true,
            delayed_ack_min: Span::from_millis(40),
            delayed_ack_max: Span::from_millis(200),
            ack_full_push: true,
            sack_compression: Some(Compression { delay: Span::from_millis(1), segments: 44 }),
            receive_buffer: 81_920,
            receive_window_initial: u32::MAX,
            receive_window_max: 6 << 20,
            send_buffer_max: 4 << 20,
            notsent_lowat: u32::MAX,
            hz: 250,
            segmentation_offload: true,
            handover: Handover::None,
            freeze_ahead: Span::from_secs(1),
        }
    }

    /// Linux 2.6.33, the host of the papers, `linux-2.6.33`.
    pub fn linux_2_6_33() -> Profile {
        Profile {
            name: "linux-2.6.33",
            initial_window: 3,
            loss_detection: LossDetection::Fack,
            tail_loss_probe: false,
            reduction: Reduction::RateHalving,
            count_segments: false,
            growth: Growth::InFlight,
            moderate_window: true,
            rto_initial: Span::from_secs(3),
            ack_full_push: false,
            sack_compression: None,
            receive_window_initial: 65_535,
            receive_window_max: 4 << 20,
            ..Profile::linux_6()
        }
    }

    /// NewReno without SACK as ns-2 had it in 2003, `ns-2`. Two papers with simulated hosts need it
    /// (docs/simulator.md).
    pub fn ns_2() -> Profile {
        Profile {
            name: "ns-2",
            initial_window: 1,
            timestamps: false,
            reduction: Reduction::AtOnce,
            hold_ssthresh: false,
            rto_min: Span::from_millis(770),
            delayed_ack: false,
            ..Profile::ns_3()
        }
    }

    /// TCP without SACK as ns-3 had it in 2018, `ns-3`.
    pub fn ns_3() -> Profile {
        Profile {
            name: "ns-3",
            loss_detection: LossDetection::Duplicates,
            tail_loss_probe: false,
            reduction: Reduction::RateHalving,
            sack: false,
            idle_restart: false,
            frto: false,
            undo: false,
            count_segments: false,
            rto_min: Span::from_secs(1),
            segmentation_offload: false,
            ..Profile::linux_6()
        }
    }

    /// Every profile.
    pub fn all() -> [Profile; 4] {
        [Profile::linux_6(), Profile::linux_2_6_33(), Profile::ns_3(), Profile::ns_2()]
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::all().into_iter().find(|one| one.name == name)
    }
}
