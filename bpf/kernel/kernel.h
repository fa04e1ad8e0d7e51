/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of the kernel that an algorithm may use: socket fields, callbacks and registration.
 *
 * The same algorithm file is compiled twice. For BPF the structs below are CO-RE declarations:
 * libbpf moves each access to where the running kernel keeps that field. Natively they are plain
 * structs that the caller fills in. The #ifdefs are here so that no algorithm needs one.
 */
#ifndef KIRIKAE_KERNEL_H
#define KIRIKAE_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifndef __cplusplus
typedef _Bool bool;
#define true 1
#define false 0
#endif

#ifdef __bpf__
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#define KERNEL_STRUCT __attribute__((preserve_access_index))
/* The verifier checks such a function once, not along every path that leads to it. */
#define VERIFIED_APART __attribute__((noinline))
#else
#define __always_inline inline __attribute__((always_inline))
#define KERNEL_STRUCT
#define VERIFIED_APART static __always_inline
#define NULL ((void *)0)
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

/* enum tcp_ca_state, include/uapi/linux/tcp.h */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

/* enum tcp_ca_event, include/net/tcp.h */
enum tcp_ca_event {
	CA_EVENT_TX_START,     /* first transmission with nothing in flight */
	CA_EVENT_CWND_RESTART, /* the window is about to be cut after an idle RTO */
	CA_EVENT_COMPLETE_CWR, /* end of a window reduction */
	CA_EVENT_LOSS,	       /* retransmission timeout */
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NON_RESTRICTED 1
#define SOCK_NOSPACE 2
#define TCP_CA_NAME_MAX 16
#define PRIVATE_AREA_BYTES 104 /* what the kernel gives an algorithm for each connection */
#define TCP_INIT_CWND 10       /* segments, RFC 6928 */
#define USEC_PER_SEC 1000000U
#define USEC_PER_MSEC 1000U

#define PARAMETERS_MAX 8

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL_STRUCT;

struct minmax {
	struct minmax_sample s[3];
} KERNEL_STRUCT;

struct socket {
	unsigned long flags; /* 1 << SOCK_NOSPACE and others */
} KERNEL_STRUCT;

struct sock {
	u32 sk_pacing_status;		  /* enum sk_pacing */
	unsigned long sk_pacing_rate;	  /* bytes per second */
	unsigned long sk_max_pacing_rate; /* bytes per second; ~0: SO_MAX_PACING_RATE not set */
	u8 sk_pacing_shift;		  /* one train is at most the pacing rate >> this */
#ifdef __bpf__
	struct socket *sk_socket;
#else
	bool is_writer_waiting; /* what the kernel has in the socket's flags */
#endif
} KERNEL_STRUCT;

struct inet_sock {
	struct sock sk;
} KERNEL_STRUCT;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5; /* enum tcp_ca_state */
	__u8 icsk_ca_initialized : 1;
	__u8 icsk_ca_setsockopt : 1; /* TCP_CONGESTION was set on this socket */
	__u8 icsk_ca_dst_locked : 1; /* its route locks the algorithm */
	u64 icsk_ca_priv[PRIVATE_AREA_BYTES / 8];
} KERNEL_STRUCT;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;	     /* sequence number of what is to be ACKed next */
	u32 snd_nxt;	     /* of what is sent next */
	u32 high_seq;	     /* snd_nxt when congestion was found last */
	u32 write_seq;	     /* of what the application writes next */
	u32 mss_cache;	     /* bytes */
	u32 snd_cwnd;	     /* segments */
	u32 snd_cwnd_cnt;    /* ACKed segments not yet turned into growth */
	u32 snd_cwnd_clamp;  /* segments */
	u32 snd_ssthresh;    /* segments */
	u32 prior_cwnd;	     /* segments, before the last reduction */
	u32 max_packets_out; /* the most segments in flight in the last window */
	u32 srtt_us;	     /* smoothed RTT, microseconds << 3 */
	u32 rttvar_us;	     /* what the timeout allows for its variation, microseconds */
	u32 delivered;	     /* segments, SACKed ones included */
	u64 bytes_acked;     /* by which snd_una has advanced */
	u64 bytes_sent;	     /* payload, retransmissions included */
	u64 bytes_retrans;   /* payload of retransmissions */
	u32 data_segs_out;   /* segments sent with data, retransmissions included */
	u32 dsack_dups;	     /* segments the receiver reported to have had already */
	u32 retrans_stamp;   /* first of the retransmissions under way, tcp_mstamp in ms; 0: none */
	u64 tcp_mstamp;	     /* time of the latest packet, microseconds */
	u32 packets_out;     /* segments sent and not cumulatively ACKed */
	u32 sacked_out;	     /* those of them that are SACKed, */
	u32 lost_out;	     /* that are held for lost, */
	u32 retrans_out;     /* that are sent again */
	u32 lost;	     /* segments ever held for lost */
	u32 app_limited;     /* samples are until `delivered` reaches it; 0: they are not */
	u64 delivered_mstamp; /* when `delivered` last grew, microseconds */
	u64 first_tx_mstamp;  /* when the latest segment delivered was sent, microseconds */
	u64 tcp_clock_cache;  /* now, nanoseconds */
	u64 tcp_wstamp_ns;    /* when pacing lets the next segment go */
	__u8 is_cwnd_limited : 1;
	struct minmax rtt_min;	  /* microseconds, windowed minimum */
	u8 bpf_sock_ops_cb_flags; /* BPF_SOCK_OPS_..._CB_FLAG, for which the kernel calls back */
#ifndef __bpf__
	struct connection *connection; /* what sk_storage holds in the kernel, or NULL */
	const u32 *parameters;
	void *large_state;   /* likewise; see large_state.h */
	u64 lsndtime_us;     /* when data was sent last; the kernel's lsndtime is in jiffies */
	u64 random;	     /* state of random_u32() */
	u32 rto_min_us;	     /* TCP_BPF_RTO_MIN; the kernel's icsk_rto_min is in jiffies */
	u32 rto_max_ms;	     /* TCP_RTO_MAX_MS; likewise */
	u32 user_timeout_ms; /* TCP_USER_TIMEOUT; likewise */
#endif
} KERNEL_STRUCT;

struct ack_sample {
	u32 pkts_acked; /* segments cumulatively ACKed */
	s32 rtt_us;	/* negative: no sample */
	u32 in_flight;	/* bytes delivered since the latest of them was sent */
} KERNEL_STRUCT;

/* A rate sample is what one ACK told of the rate of delivery. */
struct rate_sample {
	u32 prior_delivered; /* tp->delivered when the newest segment ACKed was sent */
	s32 delivered;	     /* segments delivered since; negative: no sample */
	long interval_us;    /* in this time; 0 or negative: no sample */
	long rtt_us;	     /* of the newest segment ACKed; negative: no sample */
	int losses;	     /* segments newly held for lost */
	u32 acked_sacked;    /* segments newly ACKed and SACKed */
	u32 prior_in_flight; /* segments in flight before this ACK */
	bool is_app_limited; /* the sample began when there was nothing more to send */
	bool is_ack_delayed; /* the receiver held the ACK back */
} KERNEL_STRUCT;

#ifndef __bpf__
/* A value that an operator may set; see parameters.h. */
struct parameter {
	const char *name;
	u32 preset;
	u32 lowest;
	u32 highest;
	const char *what;
};

/* `kirikae algorithms` tells this of an algorithm. */
struct about {
	const char *source;
	const char *good_at;
	const char *state; /* what it has been held against */
	const struct parameter *parameters;
	u32 parameters_count;
};
#endif

/*
 * The callbacks an algorithm may have. ssthresh, undo_cwnd and one of cong_avoid and cong_control
 * are compulsory. With cong_control the window and the pacing rate are the algorithm's alone, in
 * every state.
 */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
#ifdef __bpf__
	/* From Linux 7.1 on, for CA_EVENT_TX_START in place of cwnd_event; the loader leaves it out
	 * elsewhere. */
	void (*cwnd_event_tx_start)(struct sock *sk);
#endif
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[TCP_CA_NAME_MAX];
	u32 flags;
};

#ifdef __bpf__
/* This type came with Linux 6.10. */
enum sk_rst_reason { SK_RST_REASON_OF_ANY_KIND };

/* This type came with Linux 6.4, as did the permission to write app_limited, which no type tells
 * of. What is in it does not matter, but a struct without members is found in no kernel. */
struct bpf_struct_ops_link {
	void *map;
};

/*
 * cong_control has the rate sample as its second argument before Linux 6.10, as its fourth from
 * then on. Which one is written into the program when it is loaded, where the version would have
 * to be read for each ACK. The verifier drops the other branch unseen; the compiler must not make
 * one load of the two.
 */
static __always_inline const struct rate_sample *rate_sample_argument(unsigned long long *ctx)
{
	const struct rate_sample *rs;

	if (bpf_core_type_exists(enum sk_rst_reason))
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	return rs;
}
#endif

/*
 * CALLBACK(type, name, arguments) opens a callback, CONG_CONTROL(name, sk, rs) and
 * CWND_EVENT(name, sk, event) those of these names, ALGORITHM(variable) the registration, in which
 * HEARS(name) stands for the latter.
 * A callback is named in the registration as a void pointer, because for BPF it takes a context.
 *
 * ABOUT(variable, source, what it is good at, state) tells people what the kernel need not know;
 * ABOUT_WITH_PARAMETERS where there are parameters (parameters.h).
 */
#ifdef __bpf__
#define CALLBACK(type, name, args...) SEC("struct_ops") type BPF_PROG(name, ##args)
#define CONG_CONTROL(name, sk, rs) \
	static __always_inline void name##_of(struct sock *sk, const struct rate_sample *rs); \
	SEC("struct_ops") void name(unsigned long long *ctx) \
	{ \
		name##_of((struct sock *)ctx[0], rate_sample_argument(ctx)); \
	} \
	static __always_inline void name##_of(struct sock *sk, const struct rate_sample *rs)
#define CWND_EVENT(name, sk, event) \
	static __always_inline void name##_of(struct sock *sk, enum tcp_ca_event event); \
	CALLBACK(void, name, struct sock *sk, enum tcp_ca_event event) \
	{ \
		name##_of(sk, event); \
	} \
	CALLBACK(void, name##_tx_start, struct sock *sk) \
	{ \
		name##_of(sk, CA_EVENT_TX_START); \
	} \
	static __always_inline void name##_of(struct sock *sk, enum tcp_ca_event event)
#define HEARS(name) .cwnd_event = (void *)name, .cwnd_event_tx_start = (void *)name##_tx_start
#define ALGORITHM(variable) \
	char _license[] SEC("license") = "Dual BSD/GPL"; \
	SEC(".struct_ops.link") struct tcp_congestion_ops variable
#define ABOUT(...) _Static_assert(1, "")
#define ABOUT_WITH_PARAMETERS(...) _Static_assert(1, "")
#define PARAMETER_VALUE(name, preset, ...) [PARAMETER_##name] = preset,
#define PARAMETERS_DEFINED(list) \
	const volatile u32 parameters[] SEC(".rodata.parameters") = {list(PARAMETER_VALUE)};
#define parameter(sk, name) (parameters[PARAMETER_##name])
#define ca_state(sk) BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state)
#define set_by_program(sk) BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_setsockopt)
#define cwnd_limited_flag(tp) BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited)
#else
#define CALLBACK(type, name, args...) static type name(args)
#define CONG_CONTROL(name, sk, rs) static void name(struct sock *sk, const struct rate_sample *rs)
#define CWND_EVENT(name, sk, event) static void name(struct sock *sk, enum tcp_ca_event event)
#define HEARS(name) .cwnd_event = (void *)name
#define ALGORITHM(variable) \
	extern const struct tcp_congestion_ops kk_##variable; \
	const struct tcp_congestion_ops kk_##variable
#define ABOUT_OF(variable, ...) \
	extern const struct about kk_##variable##_about; \
	const struct about kk_##variable##_about = {__VA_ARGS__}
#define ABOUT(variable, source, good_at, state) ABOUT_OF(variable, source, good_at, state, 0, 0)
#define ABOUT_WITH_PARAMETERS(variable, source, good_at, state) \
	ABOUT_OF(variable, source, good_at, state, parameters, PARAMETERS_COUNT)
#define PARAMETER_DESCRIBED(name, ...) {#name, __VA_ARGS__},
#define PARAMETERS_DEFINED(list) \
	static const struct parameter parameters[] = {list(PARAMETER_DESCRIBED)};
#define parameter(sk, name) (tcp_sk(sk)->parameters[PARAMETER_##name])
#define ca_state(sk) (inet_csk(sk)->icsk_ca_state)
#define set_by_program(sk) (inet_csk(sk)->icsk_ca_setsockopt)
#define cwnd_limited_flag(tp) ((tp)->is_cwnd_limited)
#endif

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct sock *tcp_to_sock(const struct tcp_sock *tp)
{
	return (struct sock *)tp;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* The algorithm's private area; take_over() sets it to zero. */
static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

#define ASSERT_FITS_PRIVATE_AREA(type) \
	_Static_assert(sizeof(type) <= PRIVATE_AREA_BYTES, "the kernel gives no more")

/*
 * SELDOM marks a function that few ACKs need. Between two ACKs the caches have seen other things,
 * so that what an ACK costs is mostly the code that has to be fetched: what seldom runs lies
 * elsewhere.
 */
#define SELDOM static __attribute__((noinline, cold, section(".text")))

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

/* Returns the lowest RTT of the kernel's window (microseconds); ~0 without a sample. */
static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static __always_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* A window that the application does not fill proves nothing and must not grow (RFC 7661). */
static __always_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (cwnd_limited_flag(tp))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Returns whether the program would write more, and waits for room in the send buffer: it was told
 * that there is none, and has not been woken. */
static __always_inline bool is_writer_waiting(const struct sock *sk)
{
#ifdef __bpf__
	return sk->sk_socket->flags >> SOCK_NOSPACE & 1;
#else
	return sk->is_writer_waiting;
#endif
}

/*
 * Reads a value here and now. Where there are two fields to choose from, the compiler would make
 * one read at a chosen place, and the verifier wants fixed places.
 */
static __always_inline u32 read_now(u32 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

/*
 * Returns all ones where a < b, else 0; both are below 2^63. It is for choices that go either way
 * as often: the processor has forgotten a branch by the next ACK, and one that it guesses wrong
 * costs as much as 20 instructions.
 */
static __always_inline u64 ones_if_less(u64 a, u64 b)
{
	u64 difference = a - b;

	asm volatile("" : "+r"(difference)); /* lest the compiler make it a branch again */
	return (s64)difference >> 63;
}

/* Returns `a` for all ones, `b` for 0. */
static __always_inline u32 either(u32 ones, u32 a, u32 b)
{
	return b ^ ((a ^ b) & ones);
}

/* Samples are application-limited until `delivered`. No program can set that before Linux 6.4. */
static __always_inline void set_app_limited(struct tcp_sock *tp, u32 delivered)
{
#ifdef __bpf__
	if (!bpf_core_type_exists(struct bpf_struct_ops_link))
		return;
#endif
	tp->app_limited = delivered;
}

/* Returns the segments that are on their way: neither ACKed nor held for lost. */
static __always_inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* Returns a random number; natively from a sequence that begins with the socket's own seed
 * (splitmix64). */
static __always_inline u32 random_u32(struct sock *sk)
{
#ifdef __bpf__
	return bpf_get_prandom_u32();
#else
	u64 z = tcp_sk(sk)->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
#endif
}

#endif
