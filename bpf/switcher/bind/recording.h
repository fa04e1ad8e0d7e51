/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of the switcher are recorded here, with what the host told it.
 *
 * A socket's record lives in its storage, since a socket is called back for one thing at a time.
 * Where nothing is to be recorded, which is a constant when the programs are loaded, nothing of
 * this is left in them.
 */
#ifndef KIRIKAE_RECORDING_H
#define KIRIKAE_RECORDING_H

#include "interface/call_record.h"
#include "switcher/bind/kernel_structs.h"

const volatile bool are_calls_recorded = false;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_record);
} call_in_progress SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} recorded_calls SEC(".maps");

/* Returns NULL where nothing is recorded. */
static __always_inline struct call_record *record_of(struct tcp_sock *tp)
{
	return are_calls_recorded ? bpf_sk_storage_get(&call_in_progress, tp, 0, 0) : NULL;
}

static __always_inline void record_answer(struct tcp_sock *tp, u32 asked, u32 value, u32 given)
{
	struct call_record *record = record_of(tp);

	if (!record)
		return;
	if (record->answers < ANSWERS_MAX)
		record->answer[record->answers] = (struct answer){asked, value, given};
	record->answers++;
}

static __always_inline void record_algorithm(struct tcp_sock *tp, const char *name)
{
	struct call_record *record = record_of(tp);

	if (record && !record->in_use[0])
		__builtin_memcpy(record->in_use, name, sizeof(record->in_use));
}

static __always_inline void record_match_key(struct tcp_sock *tp, const struct match_key *key)
{
	struct call_record *record = record_of(tp);

	if (record)
		record->match_key = *key;
}

static __always_inline void record_path_key(struct tcp_sock *tp, const struct path_key *key)
{
	struct call_record *record = record_of(tp);

	if (record)
		record->path_key = *key;
}

static __always_inline void record_path_known(struct tcp_sock *tp, const struct path_known *known)
{
	struct call_record *record = record_of(tp);

	if (record)
		record->path_known = *known;
}

static __always_inline u32 record_lot(struct tcp_sock *tp, u32 lot)
{
	struct call_record *record = record_of(tp);

	if (record)
		record->lot = lot;
	return lot;
}

static __always_inline u64 record_now(struct tcp_sock *tp, u64 now_ns)
{
	struct call_record *record = record_of(tp);

	if (record)
		record->now_ns = now_ns;
	return now_ns;
}

static __always_inline void record_socket(struct socket_seen *seen, const struct tcp_sock *tp)
{
	seen->bytes_acked = tp->bytes_acked;
	seen->bytes_retrans = tp->bytes_retrans;
	seen->tcp_mstamp = tp->tcp_mstamp;
	seen->delivered_mstamp = tp->delivered_mstamp;
	seen->snd_una = tp->snd_una;
	seen->snd_nxt = tp->snd_nxt;
	seen->write_seq = tp->write_seq;
	seen->mss_cache = tp->mss_cache;
	seen->snd_cwnd = tp->snd_cwnd;
	seen->snd_ssthresh = tp->snd_ssthresh;
	seen->srtt_us = tp->srtt_us;
	seen->rttvar_us = tp->rttvar_us;
	seen->data_segs_out = tp->data_segs_out;
	seen->dsack_dups = tp->dsack_dups;
	seen->retrans_stamp = tp->retrans_stamp;
	seen->packets_out = tp->packets_out;
	seen->min_rtt_us = tcp_min_rtt(tp);
	seen->ca_state = ca_state(tcp_to_sock(tp));
	seen->is_set_by_program = set_by_program(tcp_to_sock(tp));
	seen->callbacks = tp->bpf_sock_ops_cb_flags;
	seen->is_writer_waiting = is_writer_waiting(tcp_to_sock(tp));
	seen->app_limited = tp->app_limited;
}

static __always_inline void record_begin(struct tcp_sock *tp, u32 generation,
					 const struct call *call)
{
	const struct connection *c;
	struct call_record *record;

	if (!are_calls_recorded)
		return;
	record = bpf_sk_storage_get(&call_in_progress, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!record)
		return;
	if (!record->connection)
		record->connection = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	record->now_ns = 0;
	record->version = CALL_RECORD_VERSION;
	record->serial++;
	record->generation = generation;
	record->lot = 0;
	record->call = *call;
	record->was_remembered = !!c;
	record->answers = 0;
	__builtin_memset(record->in_use, 0, sizeof(record->in_use));
	__builtin_memset(&record->match_key, 0, sizeof(record->match_key));
	record_socket(&record->socket, tp);
	if (c) {
		record->bursts = c->bursts;
		record->idle = c->idle;
		record->path = c->path;
	}
}

/* Completes the record and hands it out. Returns `callbacks`. */
static __always_inline u32 record_end(struct tcp_sock *tp, u32 callbacks)
{
	struct call_record *record = record_of(tp);
	const struct connection *c;

	if (!record)
		return callbacks;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	record->callbacks = callbacks;
	record->is_remembered = !!c;
	if (c)
		bpf_probe_read_kernel(&record->after, sizeof(record->after), c);
	if (c || record->was_remembered)
		bpf_ringbuf_output(&recorded_calls, record, sizeof(*record), 0);
	return callbacks;
}

#endif
