/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What Rust sees of bpf/; the algorithms' registrations are appended by build.rs. */
#include "algorithms/common/large_state.h"
#include "connection/connection.h"
#include "native_host.h"
#include "switcher/core/told.h"
#include "twins/twins.h"

void kk_loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments, u32 bytes);
void kk_loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups);
void kk_stream_update(struct stream *s, const struct round_trip_seen *seen);
void kk_stream_switched(struct stream *s);
bool kk_is_stream(const struct stream *s);
u32 kk_stream_latency_us(const struct stream *s);
/* How far from the usual a span was that is over; see comparison.h. */
struct span_end {
	bool is_counted; /* it was known what is usual */
	u32 stratum;
	s32 octaves; /* 1/SPAN_OCTAVE */
};

/* A burst is over. Whether the span is. */
bool kk_span_burst(struct comparison *span, u32 latency_us);
/* And the next one begins. */
struct span_end kk_span_end(struct comparison *span);
void kk_span_begin(struct comparison *span);
u32 kk_estimator_period_us(u32 fixed_us, u32 srtt_us);
bool kk_estimator_update(struct estimator *e, struct loss_runs *runs, u64 now_us, u32 period_us,
			 u32 segs_out, struct period *period);
u32 kk_given_up_after_ms(u32 retries, u32 longest_ms);
bool kk_is_given_up_late(const struct tcp_sock *tp, u32 retries);
u32 kk_log2_fixed(u32 value);
u64 kk_exp2_fixed(u32 log);
u32 kk_thesis_choose(const struct thesis_table *table, const struct thesis_measured *measured,
		     struct thesis_columns *predicted_us);
u32 kk_thesis_column_of(const struct thesis_table *table, const char *name);
void kk_predict(const struct latency_table *table, const struct measured *measured,
		const struct belief *belief, struct prediction *prediction);
void kk_belief_update(struct belief *belief, const struct latency_table *table,
		      const struct measured *measured, u32 algorithm, const struct period *period);

/* Bytes of the burst that is reckoned with. */
u32 kk_burst_bytes(const struct connection *c, const struct tcp_sock *tp);

/* Which scope of a policy a connection is in; NO_SCOPE: in none. */
u32 kk_scope_of(const struct policy *policy, const struct match_key *key);

/* The switcher: something has happened to a connection. Returns what the host is asked to call back
 * for (BPF_SOCK_OPS_..._CB_FLAG). */
u32 kk_happened(struct host *host, struct tcp_sock *tp, const struct policy *policy,
		const struct call *call);
/* A recorded call once more. `c` is what is remembered of the connection, or zeros: as it was after
 * the call before, and becomes what the native build makes of it. */
bool kk_replay(const struct call_record *record, const struct policy *policy,
	       const struct latency_table *const *tables, struct connection *c);
/* Everything as before the switcher met it; see restore.h. False: not now. */
bool kk_restore(struct host *host, struct tcp_sock *tp, bool in_recovery_too);

/* Whether the agent is told that connections wait over an interface (told.h). */
bool kk_is_to_be_told(struct told *told, u32 interface, u64 now_ns);
/* The path memory (path_memory.h), each call of the set that the key belongs to. */
u32 kk_path_place(const struct path_key *key, const struct path_spread *spread);
u64 kk_path_network(const struct address *address);
bool kk_path_recall(struct path_set *set, const struct path_key *key, u32 now_s, u32 lifetime_s,
		    struct path_known *known);
bool kk_path_begin(struct path_set *set, const struct path_key *key, u32 now_s);
void kk_path_release(struct path_set *set, const struct path_key *key);
void kk_path_forget(struct path_set *set, const struct path_key *key);
void kk_path_note(struct path_set *set, const struct path_entry *news);
