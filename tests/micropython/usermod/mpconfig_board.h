/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The qemu port's configuration with what asyncio needs switched on, and what interrupts need defined: the port as
 * it comes has no interrupt and defines neither. Given to the build as MP_CONFIGFILE.
 */
#include "mpconfigport.h"

#undef MICROPY_PY_SYS_STDIO_BUFFER
#define MICROPY_PY_SYS_STDIO_BUFFER (1) /* frames must not go through newline translation */
#undef MICROPY_PY_SELECT
#define MICROPY_PY_SELECT (1)
#undef MICROPY_PY_TIME
#define MICROPY_PY_TIME (1)
#undef MICROPY_PY_ASYNCIO
#define MICROPY_PY_ASYNCIO (1)

#define MICROPY_KBD_EXCEPTION (1)

static inline uint32_t board_irq_disable(void)
{
	uint32_t primask;

	__asm volatile ("mrs %0, primask\n\tcpsid i" : "=r" (primask) :: "memory");
	return primask;
}

static inline void board_irq_restore(uint32_t primask)
{
	__asm volatile ("msr primask, %0" :: "r" (primask) : "memory");
}

#define MICROPY_BEGIN_ATOMIC_SECTION() board_irq_disable()
#define MICROPY_END_ATOMIC_SECTION(state) board_irq_restore(state)

/* SysTick ends the sleep after a millisecond at the latest, whatever was asked */
#define MICROPY_INTERNAL_WFE(timeout_ms) do { (void)(timeout_ms); __asm volatile ("wfi"); } while (0)

void board_deinit(void);
#define MICROPY_PORT_DEINIT_FUNC board_deinit()

struct _mp_obj_type_t;
extern const struct _mp_obj_type_t board_timer_type;
#define MICROPY_PY_MACHINE_EXTRA_GLOBALS { MP_ROM_QSTR(MP_QSTR_Timer), MP_ROM_PTR(&board_timer_type) },
