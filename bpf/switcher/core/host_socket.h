/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the part of host.h that asks for a socket's algorithm and options. */
#ifndef KIRIKAE_HOST_SOCKET_H
#define KIRIKAE_HOST_SOCKET_H

#ifdef __bpf__
#include "switcher/bind/kernel_host_socket.h"
#else
#include "native_host.h"
#endif

#endif
