/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What MicroPython's qemu port lacks on the mps2-an385 (Cortex-M3, 25 MHz) to run asyncio programs: time, a
 * timer, and a UART that is received by interrupt, so that 0x03 interrupts a running program as it does on a board.
 *
 * - time: CMSDK APB TIMER0 counts down all 32 bits at 25 MHz. SysTick reads it once a millisecond, so that its wrap
 *   (171 s) is never missed, and wakes a sleeping core.
 * - machine.Timer(-1): one soft periodic timer, a millisecond's resolution, its callback run by the scheduler.
 * - UART0 RX: interrupt 0, a ring of RX_SIZE bytes; a full ring leaves the byte in the UART, the emulator then waits.
 *
 * The port is linked unpatched: --wrap (see micropython.mk) puts these functions in the place of the port's own.
 * Registers: ARM DDI 0479 (CMSDK), ARM DUI 0552 (Cortex-M3: SysTick, NVIC, VTOR), ARM DAI 0385 (interrupt numbers).
 */
#include <stdint.h>

#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stream.h"
#include "shared/runtime/interrupt_char.h"

#define REG(address) (*(volatile uint32_t *)(address))

#define TIMER0_CTRL   REG(0x40000000)
#define TIMER0_VALUE  REG(0x40000004)
#define TIMER0_RELOAD REG(0x40000008)
#define UART0_DATA    REG(0x40004000)
#define UART0_STATE   REG(0x40004004)
#define UART0_CTRL    REG(0x40004008)
#define UART0_INT     REG(0x4000400c)
#define SYST_CSR      REG(0xe000e010)
#define SYST_RVR      REG(0xe000e014)
#define SYST_CVR      REG(0xe000e018)
#define NVIC_ISER0    REG(0xe000e100)
#define SCB_VTOR      REG(0xe000ed08)

enum {
	CYCLES_PER_US = 25,
	VECTORS = 48, /* 16 of the core and 32 of the chip */
	VECTOR_SYSTICK = 15,
	VECTOR_UART0_RX = 16,
	RX_SIZE = 256, /* a power of two */
	UART_RX_FULL = 2,
	UART_CTRL_TX_RX_RXINT = 0x0b,
	UART_INT_RX = 2,
};

extern const uint32_t isr_vector[16];
void __real_uart_init(void);

static uint32_t vectors[VECTORS] __attribute__((aligned(256)));

static struct {
	uint32_t last;      /* TIMER0's value at the last update */
	uint32_t spare;     /* cycles that did not fill a microsecond */
	uint32_t us;        /* wraps with 32 bits */
	uint32_t ms;        /* wraps with 32 bits */
	uint32_t us_in_ms;  /* microseconds that did not fill a millisecond */
} now;

static volatile struct {
	uint8_t bytes[RX_SIZE];
	uint32_t head, tail;
} rx;

static volatile uint32_t timer_period_ms, timer_left_ms;

MP_REGISTER_ROOT_POINTER(mp_obj_t board_timer_callback);

/* Brings `now` up to date; the sums stay in 32 bits, because a 64-bit division would cost more than the timer read. */
static void clock_update(void)
{
	uint32_t primask = board_irq_disable();
	uint32_t value = TIMER0_VALUE;
	uint32_t cycles = now.last - value + now.spare;
	uint32_t us = cycles / CYCLES_PER_US;

	now.last = value;
	now.spare = cycles - us * CYCLES_PER_US;
	now.us += us;
	now.us_in_ms += us;
	if (now.us_in_ms >= 1000) {
		now.ms += now.us_in_ms / 1000;
		now.us_in_ms %= 1000;
	}
	board_irq_restore(primask);
}

/* Not a name that the linker knows: the port's SysTick_Handler reports an exception, so the vector table is ours. */
static void systick_isr(void)
{
	clock_update();
	if (timer_period_ms == 0 || --timer_left_ms != 0) {
		return;
	}
	timer_left_ms = timer_period_ms;
	if (MP_STATE_VM(board_timer_callback) != MP_OBJ_NULL) {
		mp_sched_schedule(MP_STATE_VM(board_timer_callback), mp_const_none);
	}
}

static void uart_rx_isr(void)
{
	UART0_INT = UART_INT_RX;
	while ((UART0_STATE & UART_RX_FULL) && rx.head - rx.tail < RX_SIZE) {
		int byte = UART0_DATA & 0xff;

		if (byte == mp_interrupt_char) {
			mp_sched_keyboard_interrupt();
			continue;
		}
		rx.bytes[rx.head % RX_SIZE] = byte;
		rx.head++;
	}
}

void __wrap_uart_init(void)
{
	__real_uart_init();
	for (int i = 0; i < 16; i++) {
		vectors[i] = isr_vector[i];
	}
	vectors[VECTOR_SYSTICK] = (uint32_t)systick_isr;
	vectors[VECTOR_UART0_RX] = (uint32_t)uart_rx_isr;
	SCB_VTOR = (uint32_t)vectors;

	TIMER0_RELOAD = 0xffffffff;
	TIMER0_VALUE = 0xffffffff;
	TIMER0_CTRL = 1;
	now.last = TIMER0_VALUE;

	SYST_RVR = 1000 * CYCLES_PER_US - 1;
	SYST_CVR = 0;
	SYST_CSR = 7; /* the core's clock, interrupt, run */

	UART0_CTRL = UART_CTRL_TX_RX_RXINT;
	NVIC_ISER0 = 1 << (VECTOR_UART0_RX - 16);
}

static bool rx_ready(void)
{
	if (rx.head == rx.tail) {
		/* a byte that was left in the UART while the ring was full raises no new interrupt */
		uint32_t primask = board_irq_disable();

		uart_rx_isr();
		board_irq_restore(primask);
	}
	return rx.head != rx.tail;
}

int __wrap_mp_hal_stdin_rx_chr(void)
{
	while (!rx_ready()) {
		mp_event_wait_ms(1);
	}
	return rx.bytes[rx.tail++ % RX_SIZE];
}

uintptr_t __wrap_mp_hal_stdio_poll(uintptr_t flags)
{
	uintptr_t ready = flags & MP_STREAM_POLL_WR;

	if ((flags & MP_STREAM_POLL_RD) && rx_ready()) {
		ready |= MP_STREAM_POLL_RD;
	}
	return ready;
}

mp_uint_t mp_hal_ticks_us(void)
{
	clock_update();
	return now.us;
}

mp_uint_t mp_hal_ticks_ms(void)
{
	clock_update();
	return now.ms;
}

mp_uint_t mp_hal_ticks_cpu(void)
{
	return -TIMER0_VALUE;
}

void mp_hal_delay_us(mp_uint_t us)
{
	uint32_t start = mp_hal_ticks_us();

	while (mp_hal_ticks_us() - start < us) {
	}
}

void mp_hal_delay_ms(mp_uint_t ms)
{
	uint32_t start = mp_hal_ticks_ms();

	while (mp_hal_ticks_ms() - start < ms) {
		mp_event_wait_ms(1);
	}
}

void board_deinit(void)
{
	timer_period_ms = 0;
	MP_STATE_VM(board_timer_callback) = MP_OBJ_NULL;
}

/* machine.Timer: boards number theirs; this one has a single soft one, so the number is not looked at. */
static mp_obj_t timer_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw, const mp_obj_t *args)
{
	static const mp_obj_base_t timer = { &board_timer_type };

	(void)args;
	mp_arg_check_num(n_args, n_kw, 0, 1, false);
	return MP_OBJ_FROM_PTR(&timer);
}

static mp_obj_t timer_init(size_t n_args, const mp_obj_t *args, mp_map_t *kw)
{
	enum { ARG_period, ARG_callback };
	static const mp_arg_t allowed[] = {
		{ MP_QSTR_period, MP_ARG_REQUIRED | MP_ARG_KW_ONLY | MP_ARG_INT, { .u_int = 0 } },
		{ MP_QSTR_callback, MP_ARG_REQUIRED | MP_ARG_KW_ONLY | MP_ARG_OBJ, { .u_obj = MP_OBJ_NULL } },
	};
	mp_arg_val_t values[MP_ARRAY_SIZE(allowed)];

	mp_arg_parse_all(n_args - 1, args + 1, kw, MP_ARRAY_SIZE(allowed), allowed, values);
	if (values[ARG_period].u_int <= 0) {
		mp_raise_ValueError(NULL);
	}
	board_deinit();
	MP_STATE_VM(board_timer_callback) = values[ARG_callback].u_obj;
	timer_left_ms = values[ARG_period].u_int;
	timer_period_ms = values[ARG_period].u_int;
	return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_KW(timer_init_obj, 1, timer_init);

static mp_obj_t timer_deinit(mp_obj_t self)
{
	(void)self;
	board_deinit();
	return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(timer_deinit_obj, timer_deinit);

static const mp_rom_map_elem_t timer_locals_table[] = {
	{ MP_ROM_QSTR(MP_QSTR_init), MP_ROM_PTR(&timer_init_obj) },
	{ MP_ROM_QSTR(MP_QSTR_deinit), MP_ROM_PTR(&timer_deinit_obj) },
};
static MP_DEFINE_CONST_DICT(timer_locals, timer_locals_table);

MP_DEFINE_CONST_OBJ_TYPE(board_timer_type, MP_QSTR_Timer, MP_TYPE_FLAG_NONE, make_new, timer_make_new,
	locals_dict, &timer_locals);

/* Moves the microsecond clock on, so that a test reaches the wrap of ticks_us (17.9 minutes) in a second. */
static mp_obj_t board_skip_us(mp_obj_t us)
{
	now.us += mp_obj_get_int_truncated(us);
	return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(board_skip_us_obj, board_skip_us);

static const mp_rom_map_elem_t board_globals_table[] = {
	{ MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_board) },
	{ MP_ROM_QSTR(MP_QSTR_skip_us), MP_ROM_PTR(&board_skip_us_obj) },
};
static MP_DEFINE_CONST_DICT(board_globals, board_globals_table);

const mp_obj_module_t board_module = {
	.base = { &mp_type_module },
	.globals = (mp_obj_dict_t *)&board_globals,
};

MP_REGISTER_MODULE(MP_QSTR_board, board_module);
