/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* regs_x86.h - the user registers of x86_64 as saved at kernel entry. */
#ifndef LOOPSCOPE_REGS_X86_H
#define LOOPSCOPE_REGS_X86_H

struct pt_regs {
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long bx;
	unsigned long bp;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
} __attribute__((preserve_access_index));

#endif
