# hilo: HiLo ids in PostgreSQL
EXTENSION = hilo hilo_hub
MODULE_big = hilo
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))
DATA = $(wildcard sql/hilo--*.sql sql/hilo_hub--*.sql)
PG_CPPFLAGS = -I$(srcdir)/src -I$(libpq_srcdir)

# The library of hilo_hub, which needs libpq.
MODULES = hilo_hub
HUB_OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/hub/*.c)))

# Only symbols marked by the server's headers are visible, so that a session has fewer
# symbols to look up when it loads the library.
PG_CFLAGS = -fvisibility=hidden

# No bitcode: compiled expressions could not call hidden functions.
override with_llvm = no

PGFILEDESC = "hilo - HiLo ids from a crash-safe row"

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=hilo --launcher='sh $(srcdir)/test/fresh.sh'
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=hilo
# With TAP_TESTS=1 on the command line; they need IPC::Run.
PROVE_TESTS = test/t/*.pl

PG_CONFIG = pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# What the SQL and isolation tests show must not depend on the clock.  The servers of TAP
# tests have settings of their own.
ifndef TAP_TESTS
installcheck: export PGOPTIONS += -c hilo.debug_range_size=32 -c hilo.max_range_size=32
else
# They find the module that they share.
installcheck: export PERL5LIB := $(CURDIR)/test/t:$(PERL5LIB)
endif

# PGXS does not track headers.
$(OBJS) $(HUB_OBJS): $(wildcard src/*.h src/hub/*.h)

$(HUB_OBJS): CFLAGS += $(CFLAGS_SL) -fvisibility=hidden
hilo_hub$(DLSUFFIX): $(HUB_OBJS)
	$(CC) $(CFLAGS) $(HUB_OBJS) $(LDFLAGS) $(LDFLAGS_SL) -shared -o $@ $(libpq)

# Visible symbols need not be looked up from within the library.
ifeq ($(PORTNAME),linux)
hilo$(DLSUFFIX): SHLIB_LINK += -Wl,-Bsymbolic
endif

# The layout of the C files.
.PHONY: format check-format
format:
	sh test/format.sh
check-format:
	sh test/format.sh --check

# The last commit, in PGXN's format; the checkout may belong to another user.
DISTNAME = $(firstword $(EXTENSION))-$(shell sed -n '/"version"/ { s/.*: *"\(.*\)".*/\1/p; q; }' META.json)

.PHONY: dist
dist:
	git -c safe.directory='$(CURDIR)' archive --format=zip --prefix=$(DISTNAME)/ --output=$(DISTNAME).zip HEAD

# A server built with gcc passes on flags that clang does not know, and headers
# with an attribute (gnu_printf) that it does not know either.
ifneq (,$(findstring clang,$(CC)))
GCC_FLAGS = -fexcess-precision=% -Wimplicit-fallthrough=% -Wcast-function-type \
	-Wshadow=% -Wold-style-declaration -Wno-format-truncation -Wno-stringop-truncation
override CFLAGS := $(filter-out $(GCC_FLAGS),$(CFLAGS)) -Wno-ignored-attributes
endif
