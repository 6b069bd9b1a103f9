# hilo: HiLo ids in PostgreSQL
EXTENSION = hilo
MODULE_big = hilo
MODULES = hilo_libpq
OBJS = $(filter-out src/hilo_libpq.o,$(patsubst %.c,%.o,$(sort $(wildcard src/*.c))))
DATA = $(wildcard sql/hilo--*.sql)
PG_CPPFLAGS = -I$(libpq_srcdir)
PGFILEDESC = "hilo - HiLo ids out of a crash-safe row"

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=hilo
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=hilo
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl

PG_CONFIG = pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS does not track headers.
$(OBJS) $(OBJS:.o=.bc) hilo_libpq.o hilo_libpq.bc: $(wildcard src/*.h)

# The one library that needs libpq is loaded only where it is needed.
vpath hilo_libpq.c src
hilo_libpq$(DLSUFFIX): LDFLAGS_SL += $(libpq)

# The last commit, as PGXN wants it.
DISTNAME = $(EXTENSION)-$(shell sed -n '/"version"/ { s/.*: *"\(.*\)".*/\1/p; q; }' META.json)

.PHONY: dist
dist:
	git archive --format=zip --prefix=$(DISTNAME)/ --output=$(DISTNAME).zip HEAD

# A server built by gcc hands down flags that clang does not know, and headers
# with an attribute (gnu_printf) that it does not know either.
ifneq (,$(findstring clang,$(CC)))
GCC_FLAGS = -fexcess-precision=% -Wimplicit-fallthrough=% -Wcast-function-type \
	-Wshadow=% -Wold-style-declaration -Wno-format-truncation -Wno-stringop-truncation
override CFLAGS := $(filter-out $(GCC_FLAGS),$(CFLAGS)) -Wno-ignored-attributes
endif
