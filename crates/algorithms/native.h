/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What Rust sees of bpf/; the algorithms' registrations are appended by build.rs. */
#include "connection.h"
#include "large_state.h"
#include "../switcher/decision.h"
#include "../switcher/rtcp/choice.h"
#include "../switcher/timeouts.h"

void kk_loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments, u32 bytes);
void kk_loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups);
u32 kk_estimator_period_us(u32 fixed_us, u32 srtt_us);
bool kk_estimator_update(struct estimator *e, struct loss_runs *runs, u64 now_us, u32 period_us,
			 u32 segs_out, struct period *period);
u32 kk_log2_fixed(u32 value);
u64 kk_exp2_fixed(u32 log);
u32 kk_rtcp_choose(const struct rtcp_table *table, const struct rtcp_measured *measured,
		   struct rtcp_columns *predicted_us);
u32 kk_rtcp_column_of(const struct rtcp_table *table, const char *name);
void kk_predict(const struct latency_table *table, const struct measured *measured,
		const struct belief *belief, struct prediction *prediction);
void kk_belief_update(struct belief *belief, const struct latency_table *table,
		      const struct measured *measured, u32 algorithm, const struct period *period);

bool kk_connection_met(struct connection *c);
void kk_belief_begin(struct belief *belief, const struct latency_table *table);
void kk_measuring_begin(struct connection *c, const struct tcp_sock *tp);
bool kk_period_is_over(struct connection *c, const struct tcp_sock *tp, u32 sample_us,
		       u32 fixed_period_us, struct period *period);
bool kk_choice_is_due(struct connection *c, const struct tcp_sock *tp);
void kk_measure(const struct connection *c, const struct tcp_sock *tp,
		const struct latency_table *table, struct measured *measured,
		struct corners *corners);
void kk_learn(struct connection *c, const struct latency_table *table,
	      const struct corners *corners, const struct period *period);
bool kk_is_left_alone(struct connection *c, const struct tcp_sock *tp, const char *in_use);
bool kk_decide(struct connection *c, const struct latency_table *table,
	       const struct corners *corners, struct decision *decision);
void kk_switching(struct connection *c, const struct tcp_sock *tp, const char *to);
void kk_switched(struct connection *c, const char *to);

u32 kk_rto_min_begin(struct timeouts *t, const struct tcp_sock *tp, u32 found_us);
u32 kk_rto_min_renew(struct timeouts *t, const struct tcp_sock *tp);
void kk_rto_min_set(struct timeouts *t, u32 wanted_us, u32 min_us);
bool kk_back_off_is_bounded(const struct tcp_sock *tp, u32 earlier);
