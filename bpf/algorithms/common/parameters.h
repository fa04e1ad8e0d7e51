/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters are what an operator may set of an algorithm without rebuilding it.
 *
 * The algorithm's file lists its parameters before it includes this:
 *
 *	#define PARAMETERS(P) P(name, default, lowest, highest, "what it is, with its unit")
 *
 * and reads them with parameter(sk, name). In the kernel they are read-only data, which the
 * verifier takes for constants; natively each socket has its own.
 */
#ifndef KIRIKAE_PARAMETERS_H
#define KIRIKAE_PARAMETERS_H

#include "kernel/kernel.h"

#define PARAMETER_PLACE(name, ...) PARAMETER_##name,
enum { PARAMETERS(PARAMETER_PLACE) PARAMETERS_COUNT };
_Static_assert(PARAMETERS_COUNT <= PARAMETERS_MAX, "a socket has room for so many parameters");

PARAMETERS_DEFINED(PARAMETERS)

#endif
