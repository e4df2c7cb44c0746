/* SPDX-License-Identifier: 0BSD */
/* board.c - MPS2 AN385: start-up, vectors and the devices of board.h. */
#include "board.h"

#define REG(address) (*(volatile uint32_t *)(address))

#define TIMER(n) (0x40000000u + 0x1000u * (n)) /* 0: the clock, 1: the periodic interrupt */
#define TIMER_CTRL 0x0u
#define TIMER_VALUE 0x4u
#define TIMER_RELOAD 0x8u
#define TIMER_INTCLEAR 0xCu
#define TIMER_ENABLE 1u
#define TIMER_INTERRUPT 8u

#define UART(n) (0x40004000u + 0x1000u * (n))
#define UART_DATA 0x0u
#define UART_STATE 0x4u
#define UART_CTRL 0x8u
#define UART_INTCLEAR 0xCu
#define UART_BAUDDIV 0x10u
#define UART_TX_FULL 1u
#define UART_RX_FULL 2u
#define UART_TX_ENABLE 1u
#define UART_RX_ENABLE 2u
#define UART_RX_INTERRUPT 8u
#define UART_RX_PENDING 2u

#define NVIC_ENABLE 0xE000E100u
#define AIRCR 0xE000ED0Cu
#define AIRCR_RESET 0x05FA0004u
#define BAUD 115200u

/* Interrupt numbers: UART n receives at 2n, timer n at 8 + n. */
#define IRQ_UART_RX(n) (2u * (n))
#define IRQ_TIMER(n) (8u + (n))

extern uint32_t data_load, data_start, data_end, bss_start, bss_end, stack_top;
int main(void);

#define BOOT_MAGIC 0x626F6F74u
__attribute__((section(".noinit"))) static struct {
	uint32_t magic, boots;
} kept;

uint16_t board_boots(void)
{
	return (uint16_t)kept.boots;
}

_Noreturn void reset_handler(void)
{
	for (uint32_t *from = &data_load, *to = &data_start; to != &data_end;)
		*to++ = *from++;
	for (uint32_t *to = &bss_start; to != &bss_end;)
		*to++ = 0;
	kept.boots = kept.magic == BOOT_MAGIC ? kept.boots + 1 : 1;
	kept.magic = BOOT_MAGIC;
	main();
	board_reset();
}

static void fault_handler(void)
{
	board_reset();
}

static void timer1_handler(void)
{
	REG(TIMER(1) + TIMER_INTCLEAR) = 1;
	on_timer();
}

static void uart0_handler(void)
{
	REG(UART(0) + UART_INTCLEAR) = UART_RX_PENDING;
	on_uart(0);
}

static void uart1_handler(void)
{
	REG(UART(1) + UART_INTCLEAR) = UART_RX_PENDING;
	on_uart(1);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16 + 32] = {
	[0] = &stack_top,
	[1] = reset_handler,
	[2] = fault_handler,
	[3] = fault_handler,
	[4] = fault_handler,
	[5] = fault_handler,
	[6] = fault_handler,
	[16 + IRQ_UART_RX(0)] = uart0_handler,
	[16 + IRQ_UART_RX(1)] = uart1_handler,
	[16 + IRQ_TIMER(1)] = timer1_handler,
};

void board_init(uint32_t timer_hz)
{
	REG(TIMER(0) + TIMER_RELOAD) = 0xFFFFFFFF;
	REG(TIMER(0) + TIMER_VALUE) = 0xFFFFFFFF;
	REG(TIMER(0) + TIMER_CTRL) = TIMER_ENABLE;
	REG(TIMER(1) + TIMER_RELOAD) = BOARD_HZ / timer_hz - 1;
	REG(TIMER(1) + TIMER_VALUE) = BOARD_HZ / timer_hz - 1;
	REG(TIMER(1) + TIMER_CTRL) = TIMER_ENABLE | TIMER_INTERRUPT;
	for (unsigned n = 0; n < 2; n++) {
		REG(UART(n) + UART_BAUDDIV) = BOARD_HZ / BAUD;
		REG(UART(n) + UART_CTRL) = UART_TX_ENABLE | UART_RX_ENABLE | UART_RX_INTERRUPT;
	}
	REG(NVIC_ENABLE) = 1u << IRQ_UART_RX(0) | 1u << IRQ_UART_RX(1) | 1u << IRQ_TIMER(1);
}

uint32_t board_clock(void)
{
	return ~REG(TIMER(0) + TIMER_VALUE); /* it counts down */
}

void board_write(unsigned uart, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		while (REG(UART(uart) + UART_STATE) & UART_TX_FULL)
			;
		REG(UART(uart) + UART_DATA) = bytes[i];
	}
}

int board_read(unsigned uart)
{
	return REG(UART(uart) + UART_STATE) & UART_RX_FULL ? (int)(REG(UART(uart) + UART_DATA) & 0xFF) : -1;
}

void board_sleep(void)
{
	/* With interrupts held back none can slip in between deciding to sleep and sleeping; WFI wakes all the same. */
	__asm__ volatile("cpsid i\n\twfi\n\tcpsie i\n\tisb" : : : "memory");
}

_Noreturn void board_reset(void)
{
	REG(AIRCR) = AIRCR_RESET;
	for (;;)
		;
}
