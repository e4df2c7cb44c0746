/* SPDX-License-Identifier: 0BSD */
/*
 * board.h - the few pieces of the MPS2 AN385 that the example uses: two UARTs, two timers, sleep and reset.
 * Facts: Arm Application Note 385 (memory map, interrupts), Cortex-M System Design Kit (UART, timer).
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

#define BOARD_HZ 25000000u

/* Interrupt handlers, in example.c. */
void on_timer(void);
void on_uart(unsigned uart);

/* Starts the free-running counter, a periodic interrupt and both UARTs with their receive interrupts. */
void board_init(uint32_t timer_hz);
/* BOARD_HZ a second, 32 bits, upwards. */
uint32_t board_clock(void);
/* Waits while the transmitter is full. */
void board_write(unsigned uart, const uint8_t *bytes, size_t n);
/* A received byte, -1: none. */
int board_read(unsigned uart);
/* Stops the CPU until an interrupt; the interrupt is served before this returns. */
void board_sleep(void);
_Noreturn void board_reset(void);
/* Which boot this is, counting in memory that a reset leaves alone. */
uint16_t board_boots(void);

#endif
