/* SPDX-License-Identifier: 0BSD */
/* console.h - text and numbers on the console's UART. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

#define CONSOLE_UART 0

void console_text(const char *s);
void console_number(uint64_t n);

#endif
