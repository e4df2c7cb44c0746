/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* regs_arm64.h - the user registers of arm64 as saved at kernel entry. The first members are a struct inside an
 * anonymous union in the kernel; CO-RE sees through it. */
#ifndef LOOPSCOPE_REGS_ARM64_H
#define LOOPSCOPE_REGS_ARM64_H

struct pt_regs {
	unsigned long regs[31];
	unsigned long sp;
	unsigned long pc;
	unsigned long pstate;
	unsigned long orig_x0;
	int syscallno;
} __attribute__((preserve_access_index));

#endif
