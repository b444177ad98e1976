# ktop's build. The main targets are `make run` and `make check`; `make help` lists the rest.
# All output is below build/, never in the source folders.

VERSION := 0.1.0
CC ?= gcc
CLANG ?= clang
PREFIX ?= /usr/local
ARCH ?= $(HOST_ARCH)
HOST_ARCH := $(patsubst aarch64,arm64,$(shell uname -m))
comma := ,

# Each compiler and sanitizer has its own directory below build/, so that builds do not overwrite each other.
ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
FLAVOUR := $(if $(findstring clang,$(CC)),clang)$(if $(SAN),$(if $(findstring clang,$(CC)),-)san-$(subst $(comma),-,$(SAN)))
B ?= build$(if $(FLAVOUR),/$(FLAVOUR))

PKGS := ncursesw libtraceevent libelf libdw json-c libzstd liblzma zlib libunwind-generic capstone
PKG_CONFIG ?= pkg-config
# Sanitizer builds are compiled often and never measured. The other builds report warnings: their optimiser finds more.
CFLAGS ?= $(if $(SAN),-O1 -w -g1,-O2 -g)
ALL_CFLAGS = -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers -Werror -D_GNU_SOURCE -DKTOP_VERSION='"$(VERSION)"' -I. -I$(B) -MMD -MP \
	$(CFLAGS) $(PKG_CFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKGS))
LIBS = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(PKGS)) -lpfm -liberty -lpthread -lm
ALL_LDFLAGS = $(LDFLAGS) $(if $(STATIC),-static) $(if $(SAN),-fsanitize=$(SAN))

SRC := $(sort $(shell find tui collectors model views -name '*.c'))
OBJ := $(patsubst %.c,$(B)/obj/%.o,$(filter-out tui/main.c,$(SRC)))
TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz_*.c))
BENCHES := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/bench_*.c))

.PHONY: all help run check unit tests fuzzers benches bench check-vm check-packages static install uninstall screenshots format lint clean
all: $(B)/ktop

help:
	@echo "make                 build/ktop"
	@echo "make run             install what is missing, build, start ktop"
	@echo "make check           install what is missing, build, run every test"
	@echo "make check-vm        the tests on other kernels, in virtual machines under emulation"
	@echo "make static          build/static/ktop, one stripped binary (ARCH=arm64: build/static-arm64/ktop)"
	@echo "make install         to PREFIX=$(PREFIX), below DESTDIR"
	@echo "make unit            only the unit tests, no root needed (SAN=address,undefined or SAN=thread; CC=clang)"
	@echo "make bench           compare with peers (btop, htop, ...), print the ratios"
	@echo "make screenshots     the screenshots of the README, from the real program"
	@echo "make lint            format, include rules, clang-tidy"

# ---- the program ----
$(B)/ktop: $(B)/obj/tui/main.o $(B)/libktop.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libktop.a: $(OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

# Descriptions of the usual terminals inside the program, for machines that have no terminfo database.
TERMINALS := xterm xterm-256color xterm-direct screen screen-256color tmux tmux-256color linux vt100 rxvt ansi
$(B)/terminfo_data.h: Makefile
	@mkdir -p $(@D)
	@{ echo 'static const struct { const char *name, *description; } terminfo_data[] = {'; \
	for t in $(TERMINALS); do d=$$(infocmp -0 -Q2 $$t 2>/dev/null | grep ^b64:) && echo "{\"$$t\", \"$$d\"},"; done; \
	echo '{0, 0}};'; } >$@.new && mv $@.new $@
$(B)/obj/tui/terminfo.o: $(B)/terminfo_data.h
# A static program uses UTF-8 without the locale's data: tui/utf8.c.
ifdef STATIC
ALL_CFLAGS += -DKTOP_STATIC
ALL_LDFLAGS += -Wl,--wrap=wcrtomb,--wrap=wcwidth
endif

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# A cross build must find only the target's libraries, hence PKG_CONFIG_LIBDIR.
static:
	@.ci/install build static-$(ARCH)
ifeq ($(ARCH),$(HOST_ARCH))
	$(MAKE) B=build/static STATIC=1 build/static/ktop
	strip build/static/ktop
else
	PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig \
		$(MAKE) B=build/static-$(ARCH) STATIC=1 CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar build/static-$(ARCH)/ktop
	aarch64-linux-gnu-strip build/static-$(ARCH)/ktop
endif

run:
	@.ci/install build
	@$(MAKE) --no-print-directory build/ktop
	@if [ -t 0 ] && [ -t 1 ]; then build/ktop; else build/ktop --batch --pane triage -n 3; fi

install: $(B)/ktop
	install -D -m 755 $(B)/ktop $(DESTDIR)$(PREFIX)/sbin/ktop
	install -D -m 644 man/ktop.8 $(DESTDIR)$(PREFIX)/share/man/man8/ktop.8

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/sbin/ktop $(DESTDIR)$(PREFIX)/share/man/man8/ktop.8

# ---- tests ----
define LINK_TEST
@mkdir -p $(@D)
$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
endef

$(B)/tests/test_%: $(B)/obj/tests/unit/test_%.o $(B)/libktop.a
	$(LINK_TEST)

# With CC=clang SAN=fuzzer-no-link,address,undefined; tests/fuzz runs them. Readers of foreign bytes are in two places.
$(B)/tests/fuzz_%: $(B)/obj/tests/fuzz_%.o $(filter $(B)/obj/collectors/kernel/% $(B)/obj/model/%,$(OBJ))
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

$(B)/tests/%: $(B)/obj/tests/%.o $(B)/libktop.a
	$(LINK_TEST)

tests: $(TESTS) $(B)/tests/event_attrs # used by a script
benches: $(BENCHES)
fuzzers: $(FUZZERS)

unit: tests
	@tests/run unit $(B)

# Everything that check and check-vm need, for machines that run both.
check-packages:
	@.ci/install build check check-vm check-static static-x86_64 static-arm64

check:
	@.ci/install build check
	@tests/run all

check-vm:
	@.ci/install build check-vm static-x86_64 static-arm64
	@tests/run vm

bench:
	@.ci/install build check bench
	@$(MAKE) --no-print-directory build/ktop benches
	@tests/bench

screenshots:
	@.ci/install build screenshots
	@$(MAKE) --no-print-directory build/ktop
	@screenshots/make

format:
	@clang-format -i $(shell find tui collectors model views tests -name '*.[ch]')

lint: $(B)/ktop
	@tests/lint

clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
.SECONDARY:
