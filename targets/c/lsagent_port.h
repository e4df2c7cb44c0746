/* SPDX-License-Identifier: 0BSD */
/*
 * lsagent_port.h - how interrupts are kept out for a few instructions. The only processor-dependent part of the agent.
 *
 * For another processor define LSA_LOCK() and LSA_UNLOCK(s) before this (or in a header named by -DLSA_PORT="...").
 * LSA_LOCK returns the state to restore, so that both nest and work within interrupts. What is in between is short:
 * see README.md for the count of instructions.
 */
#ifndef LSAGENT_PORT_H
#define LSAGENT_PORT_H

#include <stdint.h>

#ifdef LSA_PORT
#include LSA_PORT
#endif

#if defined(LSA_LOCK)
/* the user's */
#elif defined(__arm__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
static inline uint32_t lsa_lock(void)
{
	uint32_t primask;

	__asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask) : : "memory");
	return primask;
}

static inline void lsa_unlock(uint32_t primask)
{
	__asm__ volatile("msr primask, %0" : : "r"(primask) : "memory");
}

#define LSA_LOCK() lsa_lock()
#define LSA_UNLOCK(s) lsa_unlock(s)
#elif defined(LSA_SINGLE_THREAD)
/* No interrupts call the agent: a simulation, a test. */
#define LSA_LOCK() 0u
#define LSA_UNLOCK(s) ((void)(s))
#else
#error "define LSA_LOCK() and LSA_UNLOCK(s) for this processor, or LSA_SINGLE_THREAD where nothing interrupts"
#endif

#endif
