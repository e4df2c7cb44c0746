# SPDX-License-Identifier: BSD-2-Clause
# bench.mk - the programs that `make bench` measures with. Included by the main Makefile; uses its BUILD, CC, CLANG, Q and msg.
# Built without the product's flags: a sanitizer in them would change what is measured.

BENCH_DIR := tests/bench
BENCH_OUT := $(BUILD)/$(BENCH_DIR)
BENCH_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Wshadow -Wstrict-prototypes
BENCH_PROGS := $(addprefix $(BENCH_OUT)/,attach fleet pingpong waits)

.PHONY: bench-programs
bench-programs: $(BENCH_PROGS) $(addprefix $(BENCH_OUT)/,clock.bpf.o empty.bpf.o)

$(BENCH_OUT)/attach: BENCH_LIBS := $(shell $(PKG_CONFIG) --libs libbpf 2>/dev/null)

$(BENCH_PROGS): $(BENCH_OUT)/%: $(BENCH_DIR)/%.c $(BENCH_DIR)/pin.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BENCH_CFLAGS) $< $(BENCH_LIBS) -o $@
