/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * standard.h - the three standard descriptors.
 *
 * Who starts a program with one of them closed would otherwise find the next file that it opens there: what is printed would
 * then go into a recording or to the kernel.
 */
#ifndef LOOPSCOPE_LIB_STANDARD_H
#define LOOPSCOPE_LIB_STANDARD_H

/* First of all in main(): takes the places of those that are closed, so that using them fails as it should. -errno */
int standard_fds_hold(void);

#endif
