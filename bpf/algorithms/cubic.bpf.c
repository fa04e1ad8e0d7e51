/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC.
 *
 * Source: RFC 9438, sections 4.1 to 4.10 (cubic.h); RFC 9406 (hystart.h).
 *
 * Deliberate differences:
 *  1. HyStart++ (section 4.10: "SHOULD") is for transfers that go on as preset, as hystart.h has
 *     it. Slow start is Reno's.
 *  2. Time is counted in milliseconds and windows in 1/1024 segment (W_est in 2^-20).
 *  3. When a reduction proves to have been wrong after growth has begun anew, the window is
 *     restored, but not W_max and the epoch (section 4.9: "SHOULD").
 *  4. Idle keep (idle_keep.h).
 *
 * Deliberate differences from Linux's module, which follows an older draft (docs/conformance.md):
 *  5. Beyond the window before the loss W_est grows by one segment in a round trip, as section 4.3
 *     has it; the module goes on with 0.53.
 *  6. The module cuts the distance to W_max to whole segments, and so is there a little earlier.
 *  7. The module counts time in which the application was the limit; section 5.8 does not.
 *
 * Switched in mid-flight: a first epoch begins at the window found, as after an idle start: W_max
 * is that window and K is 0.
 */
#define PARAMETERS(P) CUBIC_PARAMETERS(P)
#include "algorithms/common/cubic.h"

static __always_inline u32 cubic_k_ms(const struct sock *sk, u32 k_ms)
{
	return k_ms;
}

ALGORITHM(cubic) = {
	.init = (void *)cubic_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)cubic_cong_avoid,
	.ssthresh = (void *)cubic_ssthresh,
	.undo_cwnd = (void *)cubic_undo_cwnd,
	.set_state = (void *)cubic_set_state,
	HEARS(cubic_cwnd_event),
	.pkts_acked = (void *)cubic_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_cubic",
};

ABOUT_WITH_PARAMETERS(cubic, "RFC 9438", "fast paths; what most of the Internet runs",
		      "held against Linux's module");
