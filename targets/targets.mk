# SPDX-License-Identifier: 0BSD
# What belongs to the boards' side, to be included by the Makefile.
#
# make damage        ten million frames through a damaging line: DAMAGE_FRAMES=
# make fuzz-codec    the codec under libFuzzer with ASan and UBSan: FUZZ_SECONDS=
# make fuzz-serial   detection, all decoders and the board model likewise
# make bench-codec   how fast the codec decodes on one core; fails below 20 MB/s
# make bench-serial  the same from the line to the board model, for every protocol; and what endless garbage takes
# make replay-serial recorded streams at their own pace, silences sat out, clocks compared for a minute: some minutes
# make firmware      the example for a Cortex-M3, and what the agent adds to it

CODEC_SRC := $(sort $(wildcard targets/codec/*.c))
CODEC_DEPS := $(CODEC_SRC) $(wildcard targets/codec/*.h)
DAMAGE_FRAMES ?= 10000000
FUZZ_SECONDS ?= 600
CODEC_MB_S := 20

SERIAL_MODEL_SRC := $(sort $(wildcard user/model/board*.c)) user/model/clock.c user/model/hist.c user/model/record.c
SERIAL_SRC := user/source/serial.c $(filter-out %_port.c %_tty.c %_tcp.c %_command.c,$(wildcard user/source/serial_*.c)) $(SERIAL_MODEL_SRC) \
	$(CODEC_SRC)
SERIAL_DEPS := $(SERIAL_SRC) $(CODEC_DEPS) $(wildcard user/source/serial*.h user/model/*.h)
SERIAL_DATA := $(filter-out %.board.bin %.host.bin,$(sort $(wildcard tests/data/serial/*.bin)))
SERIAL_MB_S := 20

.PHONY: damage fuzz-codec fuzz-serial bench-codec bench-serial replay-serial firmware

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

$(BUILD)/targets/fuzz_serial: tests/fuzz/fuzz_serial.c $(SERIAL_DEPS)
	$(call msg,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -g -O1 -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -I. -Iuser \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< $(SERIAL_SRC) -lm -o $@

# Recorded streams as seeds: the harness's three bytes of choice, then their beginning.
fuzz-serial: $(BUILD)/targets/fuzz_serial
	@mkdir -p $(BUILD)/targets/serial-corpus
	$(Q)n=0; for f in $(SERIAL_DATA); do n=$$((n + 1)); \
		{ printf '\000\000\000'; head -c 4000 "$$f"; } > $(BUILD)/targets/serial-corpus/seed-$$n; done
	$(Q)cd $(BUILD)/targets && nice ./fuzz_serial -max_len=8192 -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=512 \
		-print_final_stats=1 serial-corpus

$(BUILD)/targets/bench_serial: tests/bench/bench_serial.c $(SERIAL_DEPS)
	$(call msg,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -I. -Iuser $< $(SERIAL_SRC) -lm -o $@

bench-serial: $(BUILD)/targets/bench_serial
	$(Q)$< $(SERIAL_MB_S) $(SERIAL_DATA)

replay-serial: all loopers
	$(Q)LOOPSCOPE_REPLAY=real BUILD=$(BUILD) tests/run --only live -k boards.

firmware:
	$(Q)$(MAKE) -C targets/c/example OUT=$(abspath $(BUILD))/targets/example all size
