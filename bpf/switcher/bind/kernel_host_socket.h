/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What host.h promises of a socket's algorithm and options is done by the kernel's helpers. */
#ifndef KIRIKAE_KERNEL_HOST_SOCKET_H
#define KIRIKAE_KERNEL_HOST_SOCKET_H

#include "switcher/bind/kernel_structs.h"
#include "switcher/bind/recording.h"

static __always_inline bool host_get_algorithm(void *sock, struct tcp_sock *tp, char *name)
{
	bool is_told = !bpf_getsockopt(sock, SOL_TCP, TCP_CONGESTION, name, TCP_CA_NAME_MAX);

	record_answer(tp, ASKED_ALGORITHM, 0, is_told);
	record_algorithm(tp, name);
	return is_told;
}

static __always_inline bool host_set_algorithm(void *sock, struct tcp_sock *tp, const char *name)
{
	bool is_set = !bpf_setsockopt(sock, SOL_TCP, TCP_CONGESTION, (void *)name, TCP_CA_NAME_MAX);

	record_answer(tp, ASKED_TO_SET_ALGORITHM, 0, is_set);
	return is_set;
}

static __always_inline u32 host_get_option(void *sock, struct tcp_sock *tp, u32 option)
{
	u32 value = 0;

	if (bpf_getsockopt(sock, SOL_TCP, option, &value, sizeof(value)))
		value = 0;
	record_answer(tp, ASKED_OPTION | option, 0, value);
	return value;
}

static __always_inline bool host_set_option(void *sock, struct tcp_sock *tp, u32 option, u32 value)
{
	bool is_set = !bpf_setsockopt(sock, SOL_TCP, option, &value, sizeof(value));

	record_answer(tp, ASKED_TO_SET_OPTION | option, value, is_set);
	return is_set;
}

static __always_inline u32 host_retries(void *sock, struct tcp_sock *tp)
{
	const struct sock_common___net *sk = (const void *)tp;
	u32 retries = BPF_CORE_READ(sk, skc_net.net, ipv4.sysctl_tcp_retries2);

	record_answer(tp, ASKED_RETRIES, 0, retries);
	return retries;
}

#endif
