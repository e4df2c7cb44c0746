// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * empty.bpf.c - a sched_switch program that does nothing: what the kernel's run-time statistics show for it is the statistics'
 * own two clock reads, which every other figure of make bench contains as well.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	return 0;
}
