/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the agent writes for the kernel's side, and reads of it. */
#include "../../bpf/switcher/burst_latencies.h"
#include "../../bpf/switcher/comparison.h"
#include "../../bpf/switcher/latency_table.h"
#include "../../bpf/switcher/listed.h"
#include "../../bpf/switcher/policy.h"
#include "../../bpf/switcher/rtcp/table.h"
#include "../../bpf/switcher/switch_event.h"
