# SPDX-License-Identifier: BSD-2-Clause
# Fuzzing of what the host reads, besides what boards send (targets/targets.mk).

RECORDING_FUZZ_SECONDS ?= 120
RECORDING_FUZZ_SRC := $(wildcard user/model/*.c user/source/recording*.c user/sink/database*.c user/sink/diff*.c user/sink/vcd*.c) \
	user/sink/lane_group.c user/sink/edge_visit.c user/sink/output.c user/sink/sink.c user/lib/arena.c user/lib/fault.c user/lib/text.c

.PHONY: fuzz-recording
$(BUILD)/fuzz/fuzz_recording: tests/fuzz/fuzz_recording.c $(RECORDING_FUZZ_SRC) $(wildcard user/*/*.h)
	$(call msg,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -g -O1 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -D_GNU_SOURCE -I. -Iuser \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< $(RECORDING_FUZZ_SRC) -lsqlite3 -lz -lm -lpthread -o $@

# What was found stays in tests/fuzz/corpus/recording, what is tried on the way in the build directory.
fuzz-recording: $(BUILD)/fuzz/fuzz_recording
	@mkdir -p $(BUILD)/fuzz/recording
	$(Q)cd $(BUILD)/fuzz && nice ./fuzz_recording -max_len=4096 -max_total_time=$(RECORDING_FUZZ_SECONDS) -rss_limit_mb=1024 \
		-print_final_stats=1 recording $(CURDIR)/tests/fuzz/corpus/recording
