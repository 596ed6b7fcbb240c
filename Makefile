# edlc: make, make test, make demo, make install (PREFIX, DESTDIR).
CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
B       := build

WARN := -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes \
        -Wstrict-prototypes -Werror=switch
CPPFLAGS += -I. -I$(B) -D_POSIX_C_SOURCE=200809L
LDLIBS   += -lm -ljansson

LIB_SRC  := $(wildcard ir/base/*.c ir/*.c passes/*.c passes/plan/*.c \
              codegen/*.c frontend/*.c)
LIB_SRC  := $(filter-out frontend/main.c,$(LIB_SRC))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o) $(B)/grammar/edl.tab.o $(B)/grammar/edl.lex.o
UNIT     := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/*.c))

all: $(B)/edlc

$(B)/edlc: $(B)/frontend/main.o $(B)/libedl.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libedl.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(B)/%.o: %.c
	@mkdir -p $(@D)
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

test: all $(UNIT)
	tests/run $(TESTS)

clean:
	rm -rf $(B)

.PHONY: all test clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
