/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent asks for the connections whose local address is gone, and is told how many. */
#ifndef KIRIKAE_STRANDED_H
#define KIRIKAE_STRANDED_H

#include "interface/policy.h"

struct local_address {
	struct address address;
	u32 interface; /* of a link-local IPv6 address, by its index; 0 of any other */
	u32 namespace; /* from which it is gone */
};

struct stranded {
	u32 connections; /* they have the address */
	u32 destroyed;	 /* so many of them were */
};

#endif
