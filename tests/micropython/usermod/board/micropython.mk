# SPDX-License-Identifier: BSD-2-Clause
# The user C module for the emulated Cortex-M3; see board.c.
SRC_USERMOD_C += $(USERMOD_DIR)/board.c
LDFLAGS_USERMOD += -Wl,--wrap=uart_init -Wl,--wrap=mp_hal_stdin_rx_chr -Wl,--wrap=mp_hal_stdio_poll
