# The front door: "make help" says what is behind it. Each target installs what
# it misses (Debian 12 or 13, root or sudo), then meson and ninja do the work.

PREFIX  ?= /usr/local
DESTDIR ?=

# Release code with the lines kept for a debugger: -O2 -g, assertions on.
SETUP = scripts/setup-build build gcc --buildtype=debugoptimized
NINJA = ninja -C build

.PHONY: all run test check bench chaos fuzz deb npm install format clean help

all:
	@scripts/install-deps build
	@$(SETUP)
	@$(NINJA)

# Where "make run" listens. DEMO=0: the plain server, without a demonstration.
LISTEN = 127.0.0.1:8940
DEMO = 1

run: all
ifeq ($(DEMO),0)
	@build/faultwire serve --http $(LISTEN)
else
	@scripts/tour
	@scripts/demo $(LISTEN)
endif

test:
	@scripts/install-deps test
	@scripts/install-npm
	@test/run

check:
	@scripts/install-deps test
	@FW_TEST=unit/ test/run

bench:
	@scripts/install-deps bench
	@$(SETUP)
	@$(NINJA)
	@bench/run

chaos:
	@scripts/install-deps test
	@$(SETUP)
	@$(NINJA)
	@FW_LONG=1 node test/wire/gate_chaos.mjs

fuzz:
	@scripts/install-deps fuzz
	@fuzz/run

# Debian packages, and packages for npm, of what is committed: in dist/.
deb:
	@scripts/install-deps build deb
	@scripts/make-deb dist

npm: all
	@scripts/install-deps npm
	@scripts/make-npm dist/npm

install:
	@scripts/install-deps build
	@$(SETUP)
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@$(NINJA)
	@DESTDIR=$(DESTDIR) meson install -C build --no-rebuild
	@echo 'Programs that link libfaultwire.so find it after "sudo ldconfig" (docs/library.md).'

format:
	@scripts/install-deps test
	@scripts/c-files | xargs -r clang-format -i --

clean:
	rm -rf build build-*

help:
	@echo 'make            build the program: build/faultwire, examples in build/examples'
	@echo 'make run        build, then show it at work'
	@echo 'make test       every test; ends with "N passed, N failed" (FW_TEST=word: only steps with that word)'
	@echo 'make check      the unit tests only, quick'
	@echo 'make bench      the claims, each as a ratio measured in one run'
	@echo 'make chaos      the gateway for 10 minutes, a quarter of its 20 servers failing (FW_CHAOS_SECONDS=N)'
	@echo 'make fuzz       each fuzzer for a minute'
	@echo 'make deb        Debian packages in dist/'
	@echo 'make npm        packages for npm in dist/npm/'
	@echo 'make install    into PREFIX (/usr/local), below DESTDIR if given'
	@echo 'make format     lay out the C files as .clang-format says'
	@echo 'make clean      remove what was built'
	@echo
	@echo 'Each installs what is missing first (Debian 12 or 13, as root or with sudo).'
