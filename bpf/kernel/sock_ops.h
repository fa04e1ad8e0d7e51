/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's sock_ops callbacks, the options that are set and a socket's states have these
 * numbers (linux/bpf.h, linux/tcp.h, net/tcp_states.h). */
#ifndef KIRIKAE_SOCK_OPS_H
#define KIRIKAE_SOCK_OPS_H

enum {
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_RTO_CB = 8,
	BPF_SOCK_OPS_RETRANS_CB = 9,
	BPF_SOCK_OPS_STATE_CB = 10, /* args[1]: the state that it is about to have */
	BPF_SOCK_OPS_RTT_CB = 12,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14, /* a segment is about to be sent */
};

enum {
	BPF_SOCK_OPS_RTO_CB_FLAG = 1 << 0,
	BPF_SOCK_OPS_RETRANS_CB_FLAG = 1 << 1,
	BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2,
	BPF_SOCK_OPS_RTT_CB_FLAG = 1 << 3,
	BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG = 1 << 5,
	BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG = 1 << 6,
};

enum {
	TCP_ESTABLISHED = 1,
	TCP_FIN_WAIT1 = 4,
	TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8,
	TCP_LAST_ACK = 9,
};

#define TCP_NODELAY 1
#define TCP_USER_TIMEOUT 18	       /* milliseconds */
#define TCP_RTO_MAX_MS 44	       /* in bpf_setsockopt() since Linux 6.15 */
#define TCP_BPF_RTO_MIN 1004	       /* microseconds; in bpf_getsockopt() since Linux 6.15 */
#define TCP_BPF_SOCK_OPS_CB_FLAGS 1008 /* since Linux 6.12 */

/* The program can send as long as the state is one of these. */
static __always_inline bool is_open(u32 state)
{
	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT;
}

#endif
