# edlc: make, make test, make bench, make demo, make install (PREFIX, DESTDIR).
CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
DATA     = $(PREFIX)/share/edlc
B       := build

WARN := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes \
        -Wstrict-prototypes -Werror=switch
CPPFLAGS += -I. -I$(B) -D_POSIX_C_SOURCE=200809L
LDLIBS   += -lm -ljansson -lstdc++
CXXWARN  := -std=c++17 -Wall -Wextra -fno-exceptions -fno-rtti

LIB_SRC  := $(wildcard ir/base/*.c ir/*.c passes/*.c passes/plan/*.c \
              codegen/*.c frontend/*.c)
LIB_SRC  := $(filter-out frontend/main.c,$(LIB_SRC))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o) $(B)/passes/plan/toml.o $(B)/embedded.o $(B)/grammar/edl.tab.o $(B)/grammar/edl.lex.o
# Built into edlc: its library (and what the outputs need beside them).
EMBED    := $(sort $(wildcard lib/*.edl lib/*.cu) $(wildcard runtime/*.[ch] runtime/*.cu*))
UNIT     := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/*.c))

all: $(B)/edlc

$(B)/edlc: $(B)/frontend/main.o $(B)/libedl.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libedl.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(WARN) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The only C++: the library that reads TOML.
$(B)/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXWARN) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/embedded.c: tools/embed $(EMBED)
	@mkdir -p $(@D)
	tools/embed $(EMBED) >$@.new && mv $@.new $@

$(B)/embedded.o: $(B)/embedded.c
	$(CC) $(WARN) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/grammar/%.o: $(B)/grammar/%.c
	$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/grammar/edl.tab.c: grammar/edl.y
	@mkdir -p $(@D)
	bison -Wall -Wno-yacc --defines=$(B)/grammar/edl.tab.h -o $@ $<

$(B)/grammar/edl.lex.c: grammar/edl.l $(B)/grammar/edl.tab.c
	@mkdir -p $(@D)
	flex -o $@ $<

$(B)/tests/unit/%: tests/unit/%.c $(B)/libedl.a
	@mkdir -p $(@D)
	$(CC) $(WARN) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(B)/libedl.a $(LDLIBS)

# Fuzz targets, with a library of their own under sanitizers. That of the
# runtime has nothing of edlc in it; its test builds it.
FUZZ_SRC  := $(filter-out tests/fuzz/fuzz_runtime.c,$(wildcard tests/fuzz/*.c))
FUZZ      := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
SANITIZE  := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_MAKE  = $(MAKE) --no-print-directory B=$(B)/san CC=clang \
             CXX=clang++

fuzz: $(FUZZ)

$(B)/fuzz/%: tests/fuzz/%.c $(B)/san/libedl.a
	@mkdir -p $(@D)
	clang $(WARN) $(CPPFLAGS) -O1 -g -fsanitize=fuzzer $(SANITIZE) \
	    -fsanitize-link-c++-runtime -o $@ \
	    $< $(B)/san/libedl.a $(LDLIBS)

$(B)/san/libedl.a: FORCE
	@+$(FUZZ_MAKE) CFLAGS="-O1 -g -fsanitize=fuzzer-no-link $(SANITIZE)" $@

BUILD_NEEDS := gcc g++ libc6-dev flex bison libjansson-dev libtomlplusplus-dev
TEST_NEEDS  := $(BUILD_NEEDS) liburing-dev clang llvm-14-tools libclang-rt-14-dev \
               python3 python3-torch python3-numpy libopenblas0-openmp pkgconf \
               gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user

# Everything that the tests need, built with what this machine has.
test:
	@tools/need $(TEST_NEEDS)
	@$(MAKE) --no-print-directory -s -j2 check

check: all $(UNIT) fuzz
	tests/run $(TESTS)

# From a fresh clone to a trained model, on text that every Debian has.
demo:
	@tools/need $(BUILD_NEEDS)
	@$(MAKE) --no-print-directory -s -j2 all
	@samples/demo

# Against PyTorch, on a machine that does nothing else: docs/measurements.md.
bench: all
	@tools/need $(BUILD_NEEDS) python3-torch python3-numpy libopenblas0-openmp
	@/usr/bin/python3 bench/run.py $(BENCH)

# Time over memory, predicted and measured: docs/measurements.md.
bench-plan: all
	@tools/need $(BUILD_NEEDS) python3-torch python3-numpy libopenblas0-openmp
	@/usr/bin/python3 bench/plan.py $(BENCH)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(DATA)/runtime \
	    $(DESTDIR)$(DATA)/lib $(DESTDIR)$(PREFIX)/include/edl \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(B)/edlc $(DESTDIR)$(PREFIX)/bin/edlc
	install -m 644 $(wildcard runtime/*.[ch] runtime/*.cu*) \
	    $(DESTDIR)$(DATA)/runtime
	install -m 644 lib/*.edl $(DESTDIR)$(DATA)/lib
	install -m 644 runtime/*.h $(DESTDIR)$(PREFIX)/include/edl
	sed 's|@PREFIX@|$(PREFIX)|' tools/edl.pc.in \
	    > $(DESTDIR)$(PREFIX)/lib/pkgconfig/edl.pc
	chmod 644 $(DESTDIR)$(PREFIX)/lib/pkgconfig/edl.pc
	install -m 644 docs/edlc.1 $(DESTDIR)$(PREFIX)/share/man/man1

uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/bin/edlc $(DESTDIR)$(DATA) \
	    $(DESTDIR)$(PREFIX)/include/edl \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig/edl.pc \
	    $(DESTDIR)$(PREFIX)/share/man/man1/edlc.1

clean:
	rm -rf $(B)

FORCE:

.PHONY: all bench bench-plan fuzz FORCE test check demo install uninstall clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' -type f -not -path '*/Output/*' \
    2>/dev/null)
