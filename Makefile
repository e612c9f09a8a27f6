# SPDX-License-Identifier: Apache-2.0
# A thin front to CMake. Each goal first installs the Debian packages it lacks.
#
#   make demo      profile two programs, write the files, say how to look at them
#   make test      build with gcc, clang and sanitizers, run the checkers and all tests
#   make check-fast   after a change: unit and golden tests, fuzz corpora, checkers (release build)
#   make check     the checkers alone (layers, machine code, symbols, signal path, format, licences)
#   make bench     measure Kymo beside its peers (PARTS="overhead servers": these alone)
#   make soak      a service under an agent whose reporters fail, for 10 minutes (SECONDS=600)
#   make store     deliver profiles to versitygw, an S3 store of other authors, which is away for AWAY=300 s
#   make install   to PREFIX (/usr/local), below DESTDIR if that is set
#   make uninstall takes that away again
#   make format    lay out the C and C++ sources as .clang-format says
PREFIX ?= /usr/local
RELEASE := build/release

help:
	@sed -n 's/^#   //p' Makefile

release:
	@tools/install-deps build
	cmake --preset release >/dev/null
	cmake --build --preset release --target src/all examples/all

demo: release
	@tools/install-deps demo
	@tools/demo $(RELEASE)

# Where an init system runs, a package of a server would start it: there the user installs them, or
# the tests that need them are skipped.
SERVERS := [ -d /run/systemd/system ] || tools/install-deps load || true

test:
	@tools/install-deps build test
	@$(SERVERS)
	@tests/golden/async_profiler.py
	@tools/test

check-fast:
	@tools/install-deps build test
	cmake --preset release -DKYMO_WERROR=ON >/dev/null
	cmake --build --preset release --target src/all quick_tests
	ctest --test-dir $(RELEASE) -R '^(unit|golden|fuzz|check)\.' -j $$(nproc) --timeout 300 --output-on-failure

check:
	@tools/install-deps build test
	cmake --preset release >/dev/null
	cmake --build --preset release
	ctest --test-dir $(RELEASE) -R '^check\.' --output-on-failure

bench:
	@tools/install-deps build bench
	@$(SERVERS)
	cmake --preset release >/dev/null
	cmake --build --preset release --target src/all bench/all tests/workloads/all recording_dump
	@bench/run $(RELEASE) $(PARTS)

soak: release
	@$(SERVERS)
	@tools/soak $(RELEASE) $(or $(SECONDS),600)

store: release
	@tools/install-deps test
	cmake --build --preset release --target tests/workloads/all
	@env KYMO_BUILD=$(RELEASE) KYMO_TEST_AWAY=$(or $(AWAY),300) PYTHONDONTWRITEBYTECODE=1 \
	    python3 tests/integration/agent_store.py

install: release
	DESTDIR='$(DESTDIR)' cmake --install $(RELEASE) --prefix '$(PREFIX)'

uninstall: release
	@DESTDIR='$(DESTDIR)' tools/uninstall $(RELEASE) '$(PREFIX)'

format:
	@tools/install-deps test
	git ls-files -z '*.c' '*.h' '*.cc' '*.hpp' ':!tests/checkers' | xargs -0 clang-format -i

clean:
	rm -rf build

.PHONY: help release demo test check-fast check bench soak store install uninstall format clean
