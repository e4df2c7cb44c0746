# SPDX-License-Identifier: BSD-2-Clause
# loopers.mk - programs with known truth, for the live tests. Included by the main Makefile; uses its BUILD, CC, Q and msg.
# They are built without the product's flags: a sanitizer in a looper would change its truth.

BUILD ?= build
LOOPER_DIR := tests/loopers
LOOPER_OUT := $(BUILD)/$(LOOPER_DIR)
LOOPER_CFLAGS := -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Wshadow -Wstrict-prototypes
PRELOADS := count_waits shift_clock
LOOPERS := $(addprefix $(LOOPER_OUT)/,$(filter-out looper $(PRELOADS),$(basename $(notdir $(wildcard $(LOOPER_DIR)/*.c)))))

.PHONY: loopers
loopers: $(LOOPERS) $(PRELOADS:%=$(LOOPER_OUT)/%.so)

$(LOOPER_OUT)/io_uring: LOOPER_LIBS := -luring
$(LOOPER_OUT)/libevent: LOOPER_LIBS := -levent
$(LOOPER_OUT)/libev: LOOPER_LIBS := -lev
$(LOOPER_OUT)/ticker: LOOPER_LIBS := -lm
$(LOOPER_OUT)/ticker.o: LOOPER_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls

$(LOOPER_OUT)/%.o: $(LOOPER_DIR)/%.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(LOOPER_CFLAGS) -MMD -MP -c -o $@ $<

$(LOOPER_OUT)/%.so: $(LOOPER_DIR)/%.c
	@mkdir -p $(@D)
	$(call msg,CC,$@)
	$(Q)$(CC) $(LOOPER_CFLAGS) -fPIC -shared -o $@ $<

$(LOOPERS): $(LOOPER_OUT)/%: $(LOOPER_OUT)/%.o $(LOOPER_OUT)/looper.o
	$(call msg,LINK,$@)
	$(Q)$(CC) -pthread -o $@ $^ $(LOOPER_LIBS)

.PRECIOUS: $(LOOPER_OUT)/%.o
-include $(wildcard $(LOOPER_OUT)/*.d)
