# loopscope: build, test, install. `make help` lists the targets.
#
# make                build/loopscope
# make demo           installs what is missing, builds, shows a real loop beside CPU hogs   (root)
# make test           installs what is missing, builds, runs every test that can run here   (root)
#
# V=1 shows commands; SAN=address,undefined builds with sanitizers (use another BUILD=); STATIC=1 links statically where
# static libraries exist; CROSS_COMPILE=aarch64-linux-gnu- builds for another machine; BUILD=DIR builds elsewhere.

BUILD ?= build
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share/loopscope
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=
VERSION := 0.1.0

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

ifeq ($(V),1)
  Q :=
  msg =
else
  Q := @
  msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(abspath $(BUILD))/%,%,$(2))';
  MAKEFLAGS += --no-print-directory
endif

# --- tools ----------------------------------------------------------------------------------------------------------
ifneq ($(CROSS_COMPILE),)
  CC := $(CROSS_COMPILE)gcc
  AR := $(CROSS_COMPILE)ar
else ifeq ($(origin CC),default)
  CC := gcc
endif
CLANG ?= clang
LLVM_STRIP ?= $(shell command -v llvm-strip || ls /usr/bin/llvm-strip-* 2>/dev/null | head -1)
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
PKG_CONFIG ?= $(CROSS_COMPILE)pkg-config
PROTOC_C ?= protoc-c

ARCH := $(shell $(CC) -dumpmachine 2>/dev/null | sed -e 's/-.*//')
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(ARCH)))

# --- flags ----------------------------------------------------------------------------------------------------------
LIBS := libbpf libelf libdw smartcols jansson inih libseccomp libprotobuf-c libcap-ng libmicrohttpd libcurl sqlite3 zlib
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Wno-missing-field-initializers -Wformat=2
CPPFLAGS_ALL := -D_GNU_SOURCE -Iuser -I. -I$(BUILD)/gen -DLOOPSCOPE_VERSION='"$(VERSION)"' \
	-DLOOPSCOPE_DATADIR='"$(DATADIR)"' -DLOOPSCOPE_SRCDIR='"$(CURDIR)"' $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null) $(CPPFLAGS)
CFLAGS_ALL := -std=gnu11 $(WARN) -fno-omit-frame-pointer $(CFLAGS)
LDFLAGS_ALL := $(LDFLAGS)
ifneq ($(SAN),)
  CFLAGS_ALL += -fsanitize=$(SAN) -fno-sanitize-recover=all
  LDFLAGS_ALL += -fsanitize=$(SAN)
endif
ifeq ($(STATIC),1)
  LDFLAGS_ALL += -static
  LDLIBS_ALL := $(shell $(PKG_CONFIG) --static --libs $(LIBS)) -liberty -lm
else
  LDLIBS_ALL := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null) -liberty -lm
endif
BPF_CFLAGS := -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -O2 -g -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Wno-missing-declarations \
	-I. -Ivmlinux $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null)

# --- what there is ----------------------------------------------------------------------------------------------------
# The file that defines the maps comes first: libbpf 1.1's linker leaves offsets at 0 where an extern is met before its definition.
BPF_SRC := bpf/sched.bpf.c $(filter-out bpf/sched.bpf.c,$(sort $(wildcard bpf/*.bpf.c)))
BPF_OBJ := $(BPF_SRC:%.c=$(BUILD)/%.o)
SKEL := $(BUILD)/gen/loopscope.skel.h
LIB_SRC := $(sort $(filter-out user/main.c,$(wildcard user/*.c user/*/*.c))) $(sort $(wildcard targets/codec/*.c))
PROTO_SRC := $(sort $(wildcard user/*/*.proto))
PROTO_GEN := $(PROTO_SRC:user/%.proto=$(BUILD)/gen/%.pb-c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(PROTO_GEN:=.o) $(BUILD)/gen/html_page.o
MAIN_OBJ := $(BUILD)/user/main.o
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/%.o)
PROG := $(BUILD)/loopscope

.PHONY: all
all: $(PROG) $(BUILD)/compile_commands.json

-include tests/loopers/loopers.mk
-include tests/bench/bench.mk
-include tests/fuzz/fuzz.mk
-include tests/html/html.mk
-include targets/targets.mk

# --- kernel side ------------------------------------------------------------------------------------------------------
$(BUILD)/%.bpf.o: %.bpf.c Makefile
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(BUILD)/bpf/loopscope.o: $(BPF_OBJ)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/bpf/loopscope.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name loopscope_bpf > $@

# Only the kernel source includes the skeleton; which of its files do is known after the first build.
$(patsubst %.c,$(BUILD)/%.o,$(wildcard user/source/kernel*.c)): | $(SKEL)

# --- messages: user/sink/NAME.proto becomes "sink/NAME.pb-c.h" ------------------------------------------------------------
$(BUILD)/gen/%.pb-c.c $(BUILD)/gen/%.pb-c.h: user/%.proto
	$(call msg,PROTO,$(BUILD)/gen/$*.pb-c.c)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) --proto_path=user --c_out=$(BUILD)/gen $<

$(PROTO_GEN:=.o): %.o: %.c $(BUILD)/flags
	$(call msg,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(LIB_OBJ) $(UNIT_OBJ): | $(PROTO_GEN:=.h)

# --- the page of report -o html ----------------------------------------------------------------------------------------
# Debian's libjs-chart.js; elsewhere name the file of Chart.js 3 or 4.
CHARTJS ?= /usr/share/javascript/chart.js/chart.min.js
PYTHON ?= /usr/bin/python3

$(BUILD)/gen/html_page.c: user/sink/html/build.py $(wildcard user/sink/html/*) $(CHARTJS)
	$(call msg,PAGE,$@)
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< $(CHARTJS) $@

$(BUILD)/gen/html_page.o: $(BUILD)/gen/html_page.c $(BUILD)/flags
	$(call msg,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c $< -o $@

# --- user side --------------------------------------------------------------------------------------------------------
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# Rebuilds when the flags change, so that SAN= or CFLAGS= never mixes objects.
FLAGS_NOW := $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDLIBS_ALL)
.PHONY: force
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' > $@

$(BUILD)/libloopscope.a: $(LIB_OBJ)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(PROG): $(MAIN_OBJ) $(BUILD)/libloopscope.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@

$(BUILD)/compile_commands.json: Makefile $(LIB_SRC) user/main.c
	@mkdir -p $(@D)
	@{ echo '['; sep=''; for f in $(LIB_SRC) user/main.c; do \
	  printf '%s{"directory":"%s","file":"%s","command":"%s"}\n' "$$sep" "$(CURDIR)" "$$f" \
	  "$$(printf '%s' '$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))' | sed 's/["\\]/\\&/g') -c $$f"; sep=','; done; echo ']'; } > $@

# --- tests ------------------------------------------------------------------------------------------------------------
.PHONY: unit test test-only demo deps bench soak lint sanitize
unit: $(BUILD)/unit-tests
$(BUILD)/unit-tests: $(UNIT_OBJ) $(BUILD)/libloopscope.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -lcriterion -o $@

# The stages run one after the other in fresh makes: what is installed first is then seen by pkg-config. On all CPUs,
# unless the user said how many.
STAGE = $(MAKE) $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
test:
	$(Q).ci/deps build test
	$(Q).ci/deps page || echo 'the tests of the HTML page will be skipped'
	$(Q)+$(STAGE) all unit loopers html-tests
	$(Q)+$(STAGE) sanitize-build
	$(Q)+$(STAGE) test-only

test-only: all unit loopers html-tests
	$(Q)MAKEFLAGS= BUILD=$(BUILD) SAN_BUILD=$(SAN_BUILD) tests/run

demo:
	$(Q).ci/deps build demo
	$(Q)+$(STAGE) all
	$(Q)MAKEFLAGS= BUILD=$(BUILD) tests/demo/run

deps:
	$(Q).ci/deps build demo test page

bench:
	$(Q).ci/deps build test bench
	$(Q)+$(STAGE) all loopers
	$(Q)MAKEFLAGS= BUILD=$(BUILD) tests/bench/run

# What make test shows in short, for as long as it takes: SOAK is how often each kind of edge is attached and left.
soak:
	$(Q).ci/deps build test
	$(Q)+$(STAGE) all loopers
	$(Q)MAKEFLAGS= BUILD=$(BUILD) SOAK=$(or $(SOAK),200) tests/run --only live -k edges.Survival
	$(Q)MAKEFLAGS= BUILD=$(BUILD) SOAK=$(or $(SOAK),200) tests/run --only live -k slow.Stalled

lint:
	$(Q).ci/deps build lint
	$(Q)+$(STAGE) $(SKEL) $(PROTO_GEN:=.h) $(BUILD)/compile_commands.json
	$(Q)BUILD=$(BUILD) .ci/lint

# Unit tests and a short live run of a build with sanitizers, in a directory of its own.
SAN_BUILD ?= $(BUILD)-san
sanitize:
	$(Q).ci/deps build test
	$(Q)+$(STAGE) sanitize-build
	$(Q)MAKEFLAGS= BUILD=$(SAN_BUILD) tests/sanitize/run

.PHONY: sanitize-build
sanitize-build:
	$(Q)+$(MAKE) BUILD=$(SAN_BUILD) SAN=address,undefined CFLAGS='-O1 -g' all unit loopers

# --- install ----------------------------------------------------------------------------------------------------------
.PHONY: install uninstall clean help
install: all
	install -D -m 755 $(PROG) $(DESTDIR)$(BINDIR)/loopscope
	install -d $(DESTDIR)$(DATADIR)/probes
	install -m 644 $(wildcard probes/*.probe) $(DESTDIR)$(DATADIR)/probes
	$(if $(wildcard docs/*.1),install -d $(DESTDIR)$(MANDIR)/man1 && install -m 644 $(wildcard docs/*.1) $(DESTDIR)$(MANDIR)/man1)

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/loopscope $(patsubst docs/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard docs/*.1))
	rm -f $(patsubst probes/%,$(DESTDIR)$(DATADIR)/probes/%,$(wildcard probes/*.probe))
	-rmdir $(DESTDIR)$(DATADIR)/probes $(DESTDIR)$(DATADIR) 2>/dev/null

clean:
	rm -rf $(BUILD) $(SAN_BUILD)

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile
	@echo 'Also: unit, test-only, sanitize, soak, bench, lint, deps, install, uninstall (PREFIX=, DESTDIR=), clean.'

-include $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_OBJ:.o=.d) $(BPF_OBJ:.o=.d)
