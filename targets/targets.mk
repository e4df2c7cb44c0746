# SPDX-License-Identifier: 0BSD
# What belongs to the boards' side, to be included by the Makefile.
#
# make damage        ten million frames through a damaging line: DAMAGE_FRAMES=
# make fuzz-codec    the codec under libFuzzer with ASan and UBSan: FUZZ_SECONDS=
# make bench-codec   how fast the codec decodes on one core; fails below 20 MB/s
# make firmware      the example for a Cortex-M3, and what the agent adds to it

CODEC_SRC := $(sort $(wildcard targets/codec/*.c))
CODEC_DEPS := $(CODEC_SRC) $(wildcard targets/codec/*.h)
DAMAGE_FRAMES ?= 10000000
FUZZ_SECONDS ?= 600
CODEC_MB_S := 20

.PHONY: damage fuzz-codec bench-codec firmware

# Criterion takes a filter that matches nothing for a success: the figures must be there.
damage: unit
	$(Q)out=$$(CODEC_DAMAGE_FRAMES=$(DAMAGE_FRAMES) $(BUILD)/unit-tests --filter 'codec_damage/nothing*' 2>&1) || \
		{ echo "$$out"; exit 1; }; echo "$$out" | grep '^codec_damage:'

$(BUILD)/targets/fuzz_codec: tests/fuzz/fuzz_codec.c $(CODEC_DEPS)
	$(call msg,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -g -O1 -Wall -Wextra -I. -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< $(CODEC_SRC) -o $@

fuzz-codec: $(BUILD)/targets/fuzz_codec
	@mkdir -p $(BUILD)/targets/corpus
	$(Q)cd $(BUILD)/targets && nice ./fuzz_codec -max_len=2048 -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=512 \
		-print_final_stats=1 corpus

$(BUILD)/targets/bench_codec: tests/bench/bench_codec.c $(CODEC_DEPS)
	$(call msg,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -Wall -Wextra -I. $< $(CODEC_SRC) -o $@

bench-codec: $(BUILD)/targets/bench_codec
	$(Q)$< $(CODEC_MB_S)

firmware:
	$(Q)$(MAKE) -C targets/c/example OUT=$(abspath $(BUILD))/targets/example all size
