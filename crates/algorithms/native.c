/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switcher's plain C as functions that Rust can call. */
#include "native.h"

#include "switcher/core/lifecycle.h"

void kk_loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments, u32 bytes)
{
	loss_runs_retransmit(runs, seq, segments, bytes);
}

void kk_loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups)
{
	loss_runs_dsack(runs, dsack_dups);
}

void kk_stream_update(struct stream *s, const struct round_trip_seen *seen)
{
	stream_update(s, seen);
}

void kk_stream_switched(struct stream *s)
{
	stream_switched(s);
}

bool kk_is_stream(const struct stream *s)
{
	return is_stream(s);
}

u32 kk_stream_latency_us(const struct stream *s)
{
	return stream_latency_us(s);
}

u32 kk_estimator_period_us(u32 fixed_us, u32 srtt_us)
{
	return estimator_period_us(fixed_us, srtt_us);
}

bool kk_estimator_update(struct estimator *e, struct loss_runs *runs, u64 now_us, u32 period_us,
			 u32 segs_out, struct period *period)
{
	return estimator_update(e, runs, now_us, period_us, segs_out, period);
}

u32 kk_log2_fixed(u32 value)
{
	return log2_fixed(value);
}

u64 kk_exp2_fixed(u32 log)
{
	return exp2_fixed(log);
}

u32 kk_thesis_choose(const struct thesis_table *table, const struct thesis_measured *measured,
		     struct thesis_columns *predicted_us)
{
	return thesis_choose(table, measured, predicted_us);
}

u32 kk_thesis_column_of(const struct thesis_table *table, const char *name)
{
	return thesis_column_of(table, name);
}

void kk_predict(const struct latency_table *table, const struct measured *measured,
		const struct belief *belief, struct prediction *prediction)
{
	struct corners corners;

	corners_around(table, measured, &corners);
	handicap(table, measured->burst == BULK, table->stock, prediction);
	predict(table, &corners, belief, prediction);
}

void kk_belief_update(struct belief *belief, const struct latency_table *table,
		      const struct measured *measured, u32 algorithm, const struct period *period)
{
	struct corners corners;

	corners_around(table, measured, &corners);
	belief_update(belief, table, &corners, algorithm, period);
}

bool kk_span_burst(struct comparison *span, u32 latency_us)
{
	span_burst(span, latency_us);
	return span_is_over(span);
}

struct span_end kk_span_end(struct comparison *span)
{
	struct span_end end = {.is_counted = span_counts(span), .stratum = span_stratum(span)};

	end.octaves = span_end(span);
	span_begin(span);
	return end;
}

void kk_span_begin(struct comparison *span)
{
	span_begin(span);
}

u32 kk_given_up_after_ms(u32 retries, u32 longest_ms)
{
	return given_up_after_ms(retries, longest_ms);
}

bool kk_is_given_up_late(const struct tcp_sock *tp, u32 retries)
{
	return is_given_up_late(tp, retries);
}

u32 kk_burst_bytes(const struct connection *c, const struct tcp_sock *tp)
{
	return burst_bytes(&c->bursts, tp);
}

u32 kk_scope_of(const struct policy *policy, const struct match_key *key)
{
	return scope_of(policy, key);
}

bool kk_is_to_be_told(struct told *told, u32 interface, u64 now_ns)
{
	return is_to_be_told(told, interface, now_ns);
}

u32 kk_path_place(const struct path_key *key, const struct path_spread *spread)
{
	return path_place(key, spread);
}

u64 kk_path_network(const struct address *address)
{
	return path_network(address);
}

bool kk_path_recall(struct path_set *set, const struct path_key *key, u32 now_s, u32 lifetime_s,
		    struct path_known *known)
{
	return path_recall(set, key, now_s, lifetime_s, known);
}

bool kk_path_begin(struct path_set *set, const struct path_key *key, u32 now_s)
{
	return path_begin(set, key, now_s);
}

void kk_path_release(struct path_set *set, const struct path_key *key)
{
	path_release(set, key);
}

void kk_path_forget(struct path_set *set, const struct path_key *key)
{
	path_forget(set, key);
}

void kk_path_note(struct path_set *set, const struct path_entry *news)
{
	path_note(set, news);
}

u32 kk_happened(struct host *host, struct tcp_sock *tp, const struct policy *policy,
		const struct call *call)
{
	host->has_switched = false;
	return happened(host, tp, policy, call);
}

bool kk_restore(struct host *host, struct tcp_sock *tp, bool in_recovery_too)
{
	return restore_connection(host, tp, tp->connection, in_recovery_too) != NOT_RESTORED;
}

/* The socket as it was seen, and nothing else of it. */
static void socket_of(struct tcp_sock *tp, const struct socket_seen *seen)
{
	struct inet_connection_sock *icsk = inet_csk(tcp_to_sock(tp));

	tp->bytes_acked = seen->bytes_acked;
	tp->bytes_retrans = seen->bytes_retrans;
	tp->tcp_mstamp = seen->tcp_mstamp;
	tp->delivered_mstamp = seen->delivered_mstamp;
	tp->snd_una = seen->snd_una;
	tp->snd_nxt = seen->snd_nxt;
	tp->write_seq = seen->write_seq;
	tp->mss_cache = seen->mss_cache;
	tp->snd_cwnd = seen->snd_cwnd;
	tp->snd_ssthresh = seen->snd_ssthresh;
	tp->srtt_us = seen->srtt_us;
	tp->rttvar_us = seen->rttvar_us;
	tp->data_segs_out = seen->data_segs_out;
	tp->dsack_dups = seen->dsack_dups;
	tp->retrans_stamp = seen->retrans_stamp;
	tp->packets_out = seen->packets_out;
	tp->rtt_min.s[0].v = seen->min_rtt_us;
	tp->bpf_sock_ops_cb_flags = seen->callbacks;
	tp->app_limited = seen->app_limited;
	tcp_to_sock(tp)->is_writer_waiting = seen->is_writer_waiting;
	icsk->icsk_ca_state = seen->ca_state;
	icsk->icsk_ca_setsockopt = seen->is_set_by_program;
}

bool kk_replay(const struct call_record *record, const struct policy *policy,
	       const struct latency_table *const *tables, struct connection *c)
{
	struct replay replay = {.record = record};
	struct host host = {
		.tables = tables,
		.match_key = &record->match_key,
		.room = c,
		.replay = &replay,
		.now_ns = record->now_ns,
		.lot = record->lot,
	};
	struct tcp_sock tp = {};
	u32 callbacks;

	__builtin_memcpy(host.in_use, record->in_use, sizeof(host.in_use));
	socket_of(&tp, &record->socket);
	if (record->was_remembered) {
		c->bursts = record->bursts;
		c->idle = record->idle;
		c->path = record->path;
		tp.connection = c;
	}
	callbacks = happened(&host, &tp, policy, &record->call);
	return !replay.differs && replay.answers == record->answers &&
	       callbacks == record->callbacks && !!tp.connection == record->is_remembered;
}
