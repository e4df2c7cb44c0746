// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * clock.bpf.c - the least that a measurement of IO waits by tracepoints can do: it reads the clock at both edges of the wait in waits.c,
 * and knows neither whose wait it is nor what to do with the time.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u64 clock_last; /* a time that nobody stores, the compiler would not ask for */

#if defined(__TARGET_ARCH_x86)
#define WAIT "epoll_wait"
#else
#define WAIT "epoll_pwait"
#endif

SEC("tp/syscalls/sys_enter_" WAIT)
int clock_enter(void *ctx)
{
	clock_last = bpf_ktime_get_ns();
	return 0;
}

SEC("tp/syscalls/sys_exit_" WAIT)
int clock_exit(void *ctx)
{
	clock_last = bpf_ktime_get_ns();
	return 0;
}
