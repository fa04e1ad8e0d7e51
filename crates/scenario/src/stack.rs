//! Reads `[stack]`: how the TCP of the simulated hosts behaves.

use std::ops::RangeInclusive;

use kirikae_path::Span;
use kirikae_settings::Refusal;
use kirikae_settings::quantity::Size;
use kirikae_settings::section::Section;
use kirikae_tcp::{Growth, Handover, LossDetection, Profile, Reduction};

const PROFILES: [&str; 4] = ["linux-6", "linux-2.6.33", "ns-3", "ns-2"];

/// The usual receive buffer, bytes of data; it is so large that it does not limit a connection.
const RECEIVE_BUFFER: u32 = 5 << 18;
/// The usual largest receive buffer, bytes of data.
const RECEIVE_BUFFER_MAX: u32 = 15 << 18;

/// Least receive buffer, bytes.
const LEAST_BUFFER: u64 = 1500;
/// Sizes of IP packets, bytes: from what every host takes (RFC 791) to jumbo frames.
const MTUS: RangeInclusive<u64> = 576..=9216;

/// The profile with a scenario's usual buffers.
fn with_buffers(profile: Profile) -> Profile {
    Profile { receive_buffer: RECEIVE_BUFFER, receive_window_max: RECEIVE_BUFFER_MAX, ..profile }
}

/// What a scenario without `[stack]` has, as the kernel has it in the bench.
pub fn usual() -> Profile {
    with_buffers(Profile::linux_6())
}

/// Reads `stack`: the name of a profile, and what differs from it. Without `stack` it is `linux-6`.
///
/// # Errors
/// Fails if there is no such profile or feature, or if a value is out of its range; says file, line and key,
/// and what is allowed.
pub fn read(root: &Section) -> Result<Profile, Refusal> {
    let Some(field) = root.optional("stack") else { return Ok(usual()) };
    let section = field.section("[stack] with profile, and features that are to be otherwise")?;
    let mut profile = match section.optional("profile") {
        None => usual(),
        Some(field) => {
            let name = PROFILES[field.choice(&PROFILES)?];
            with_buffers(Profile::named(name).expect("each name listed is a profile's"))
        }
    };
    let mut keys = vec!["profile", "mtu"];
    keys.extend(read_switches(&section, &mut profile)?);
    keys.extend(read_times(&section, &mut profile)?);
    keys.extend(read_sizes(&section, &mut profile)?);
    keys.extend(read_kinds(&section, &mut profile)?);
    section.allow(&keys)?;
    agree(&section, &profile)?;
    Ok(profile)
}

/// Reads the features that are on or off; returns the keys.
fn read_switches(section: &Section, profile: &mut Profile) -> Result<Vec<&'static str>, Refusal> {
    let mut keys = Vec::new();
    let switches: [(&'static str, &mut bool); 16] = [
        ("sack", &mut profile.sack),
        ("timestamps", &mut profile.timestamps),
        ("window-scaling", &mut profile.window_scaling),
        ("ecn", &mut profile.ecn),
        ("idle-restart", &mut profile.idle_restart),
        ("tail-loss-probe", &mut profile.tail_loss_probe),
        ("frto", &mut profile.frto),
        ("undo", &mut profile.undo),
        ("mtu-probing", &mut profile.mtu_probing),
        ("rack-shortcut", &mut profile.rack_shortcut),
        ("hold-ssthresh", &mut profile.hold_ssthresh),
        ("delayed-ack", &mut profile.delayed_ack),
        ("count-segments", &mut profile.count_segments),
        ("moderate-window", &mut profile.moderate_window),
        ("ack-full-push", &mut profile.ack_full_push),
        ("segmentation-offload", &mut profile.segmentation_offload),
    ];
    for (key, feature) in switches {
        keys.push(key);
        if let Some(field) = section.optional(key) {
            *feature = field.boolean()?;
        }
    }
    Ok(keys)
}

/// Reads the times; returns the keys.
fn read_times(section: &Section, profile: &mut Profile) -> Result<Vec<&'static str>, Refusal> {
    let mut keys = Vec::new();
    let times: [(&'static str, &mut Span); 6] = [
        ("rto-min", &mut profile.rto_min),
        ("rto-max", &mut profile.rto_max),
        ("rto-initial", &mut profile.rto_initial),
        ("delayed-ack-min", &mut profile.delayed_ack_min),
        ("delayed-ack-max", &mut profile.delayed_ack_max),
        ("freeze-ahead", &mut profile.freeze_ahead),
    ];
    for (key, time) in times {
        keys.push(key);
        if let Some(field) = section.optional(key) {
            *time = field.quantity()?;
        }
    }
    Ok(keys)
}

/// Reads numbers of segments and bytes; returns the keys.
fn read_sizes(section: &Section, profile: &mut Profile) -> Result<Vec<&'static str>, Refusal> {
    let mut keys = Vec::new();
    if let Some(field) = section.optional("mtu") {
        let Size(bytes) = field.quantity()?;
        if !MTUS.contains(&bytes) {
            let allowed = format!("a size from {} B to {} B", MTUS.start(), MTUS.end());
            return Err(field.refuse(allowed));
        }
        profile.mtu = bytes as u32;
    }
    for (key, segments) in
        [("initial-window", &mut profile.initial_window), ("reordering", &mut profile.reordering)]
    {
        keys.push(key);
        if let Some(field) = section.optional(key) {
            *segments = field.whole(1..=1000)? as u32;
        }
    }
    for (key, bytes) in [
        ("receive-buffer", &mut profile.receive_buffer),
        ("receive-window-max", &mut profile.receive_window_max),
        ("send-buffer-max", &mut profile.send_buffer_max),
        ("notsent-lowat", &mut profile.notsent_lowat),
    ] {
        keys.push(key);
        if let Some(field) = section.optional(key) {
            let Size(size) = field.quantity()?;
            if size < LEAST_BUFFER {
                return Err(field.refuse(format!("at least {LEAST_BUFFER} B: a full packet")));
            }
            *bytes = size as u32;
        }
    }
    Ok(keys)
}

/// Reads the features that have several kinds; returns the keys.
fn read_kinds(section: &Section, profile: &mut Profile) -> Result<[&'static str; 4], Refusal> {
    if let Some(field) = section.optional("loss-detection") {
        let kinds = [
            LossDetection::Rack,
            LossDetection::Fack,
            LossDetection::Duplicates,
            LossDetection::DuplicatesOrTime,
        ];
        let names = ["rack", "fack", "duplicates", "duplicates-or-time"];
        profile.loss_detection = kinds[field.choice(&names)?];
    }
    if let Some(field) = section.optional("reduction") {
        let kinds = [Reduction::Proportional, Reduction::RateHalving, Reduction::AtOnce];
        let names = ["proportional", "rate-halving", "at-once"];
        profile.reduction = kinds[field.choice(&names)?];
    }
    if let Some(field) = section.optional("growth") {
        profile.growth =
            [Growth::Validated, Growth::InFlight][field.choice(&["validated", "in-flight"])?];
    }
    if let Some(field) = section.optional("handover") {
        let kinds = [
            Handover::None,
            Handover::ImmediateExpiration,
            Handover::BandwidthAware,
            Handover::Freeze,
        ];
        let names = ["none", "immediate-expiration", "bandwidth-aware", "freeze"];
        profile.handover = kinds[field.choice(&names)?];
    }
    Ok(["loss-detection", "reduction", "growth", "handover"])
}

/// What of it the real kernel is not shown, if anything: its TCP is as it is, but for what a host's routes and sysctls say.
pub(super) fn only_simulated(root: &Section, profile: &Profile) -> Option<Refusal> {
    let kernel = Profile {
        receive_buffer: profile.receive_buffer,
        receive_window_max: profile.receive_window_max,
        send_buffer_max: profile.send_buffer_max,
        initial_window: profile.initial_window,
        notsent_lowat: profile.notsent_lowat,
        rack_shortcut: profile.rack_shortcut,
        mtu_probing: profile.mtu_probing,
        ..usual()
    };
    let field = root.optional("stack").filter(|_| *profile != kernel)?;
    Some(field.refuse(
        "none but receive-buffer, receive-window-max, send-buffer-max, notsent-lowat, initial-window, \
         rack-shortcut and mtu-probing on the real kernel, whose TCP is as it is; kirikae-lab sim has the profiles",
    ))
}

/// Refuses features that exclude each other.
fn agree(section: &Section, profile: &Profile) -> Result<(), Refusal> {
    let ranges = [
        (["rto-min", "rto-max"], profile.rto_min, profile.rto_max),
        (["delayed-ack-min", "delayed-ack-max"], profile.delayed_ack_min, profile.delayed_ack_max),
    ];
    for ([least, most], shortest, longest) in ranges {
        if shortest > longest {
            let (field, other) = match section.optional(least) {
                Some(field) => (field, format!("at most {most}, {longest}")),
                None => (section.required(most, "")?, format!("at least {least}, {shortest}")),
            };
            return Err(field.refuse(other));
        }
    }
    let rack = profile.loss_detection == LossDetection::Rack;
    if let Some(field) = section.optional("rack-shortcut").filter(|_| !rack) {
        return Err(field.refuse("none where loss-detection is not rack"));
    }
    if let Some(field) = section.optional("freeze-ahead")
        && profile.handover != Handover::Freeze
    {
        return Err(field.refuse("none where handover is not freeze"));
    }
    if !profile.sack && (rack || profile.loss_detection == LossDetection::Fack) {
        let sack = section.required("sack", "")?;
        return Err(sack.refuse("true where loss-detection is rack or fack; the others go without"));
    }
    Ok(())
}
