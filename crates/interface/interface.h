/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the agent writes for the kernel's side, and reads of it. */
#include "interface/burst_latencies.h"
#include "interface/latency_table.h"
#include "interface/listed.h"
#include "interface/path_memory.h"
#include "interface/policy.h"
#include "interface/span_sums.h"
#include "interface/stalled.h"
#include "interface/stranded.h"
#include "interface/switch_event.h"
#include "interface/waiting.h"
#include "thesis/table.h"
