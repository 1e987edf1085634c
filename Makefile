# The front door. meson and ninja do the work; `make help` lists what can be asked for.
# ./dev TARGET first installs what a target needs.

JOBS          ?= $(shell nproc)
FUZZ_SECONDS  ?= 60
SOAK_MINUTES  ?= 30
PREFIX        ?= /usr/local
ARGS          ?=

NODE    = node_modules/.bin/node
WERROR  = $(if $(filter 1 true,$(CI)),true,false)
# Sanitizers find the same at -O1 with line tables alone, which compile in half the time.
SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
# Warnings that follow values through the code are wrong at -O1: build/ gives them, at -O2.
O1_ARGS = -Dc_args="-g1 -Wno-format-truncation -Wno-maybe-uninitialized -Wno-stringop-truncation"
SOURCES = $(shell git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]')
# Hundreds of test programs: lld links them in half the time.
LINKER  = $(if $(shell command -v ld.lld),lld,bfd)
TESTS   = $(NODE) scripts/run-tests.mjs
# Debian for arm64: libraries, and a kernel with what packaging/arm64/boot starts on it
ARM64   = .cache/arm64
ARM64_PACKAGES = libc6-dev linux-image-cloud-arm64 bubblewrap dash coreutils sed grep util-linux mount

.DEFAULT_GOAL := build
.PHONY: build run test unit e2e conformance crash browser lint format asan unit-tests fuzz fuzzers bench coverage soak \
        interop arm64 seeds house install deb dist oci site clean help

build: build/build.ninja ## Compile build/nb: optimised, hardened
	@ninja -C build -j $(JOBS) nb

run: build ## Build, then serve the API and the page (ARGS="--port 8080")
	@build/nb serve --open $(ARGS)

test: $(NODE) ## Build and run every test; ends with "N passed, N failed"
	@$(TESTS) $(ARGS)

unit e2e conformance crash browser: $(NODE) ## Only the unit (e2e, conformance ...) tests (ARGS="word in name")
	@$(TESTS) --only $@ $(ARGS)

asan: build-asan/build.ninja ## Compile build-asan/ with ASan and UBSan, unit tests and fuzzers included
	@ninja -C build-asan -j $(JOBS) nb unit-tests fuzzers

unit-tests: build-asan/build.ninja
	@ninja -C build-asan -j $(JOBS) unit-tests fuzzers

fuzzers: build-fuzz/build.ninja
	@ninja -C build-fuzz -j $(JOBS) fuzzers

fuzz: $(NODE) ## Run every fuzzer for FUZZ_SECONDS each, with libFuzzer
	@$(TESTS) --only fuzz --fuzz-seconds $(FUZZ_SECONDS) $(ARGS)

ifeq ($(firstword $(ARGS)),memory)
soak: build $(NODE)
	@ninja -C build -j $(JOBS) bench/mcp_echo
	@NB=build/nb BUILD_DIR=build MINUTES=$(if $(filter long,$(ARGS)),120,10) $(NODE) tests/soak/memory.mjs
else ifeq ($(ARGS),people)
soak: build $(NODE)
	@NB=build/nb BUILD_DIR=build MINUTES=10 $(NODE) tests/browser/test_three_people.mjs
else
soak: $(NODE) ## Repeat e2e and crash tests for SOAK_MINUTES, with 10,000 kills of a writer and 1,200 of bundles and nb each time (ARGS=memory or "memory long": does memory grow in 10 or 120 minutes of mixed load? ARGS=people: three people in three browsers for 10 minutes)
	@CAMPAIGN_SECONDS=600 KILLS=10000 ROUNDS=100 BUNDLE_KILLS=1000 HOST_KILLS=200 $(TESTS) --only e2e,crash --minutes $(SOAK_MINUTES) $(ARGS)
endif

bench: build $(NODE) ## Measure the release build (ARGS="turns --base REF", ARGS=floors); needs the tools of ./dev bench
	@$(NODE) scripts/run-bench.mjs $(ARGS)

interop: build $(NODE) ## Agents from npm as clients of /mcp; installs them into build-interop/
	@scripts/run-interop $(ARGS)

arm64: build-arm64/build.ninja $(NODE) ## Compile for arm64 into build-arm64/, run unit tests and a turn emulated (ARGS="word in name"; ARGS=sandbox: a bundle and tests of its sandbox on an emulated kernel); needs the tools of ./dev arm64
	@ninja -C build-arm64 -j $(JOBS) nb unit-tests
ifeq ($(ARGS),sandbox)
	@packaging/arm64/boot $(ARM64) build-arm64
else
	@TEST_SLOWNESS=10 packaging/arm64/emulate $(ARM64) $(TESTS) --only unit,arm64 --dir build-arm64 $(ARGS)
endif

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

install: build/build.ninja ## Install nb, its manual and completions below PREFIX (DESTDIR is honoured)
	@meson configure build -Dprefix=$(PREFIX)
	@ninja -C build -j $(JOBS) nb
	@meson install -C build --no-rebuild --strip

deb: ## A package for Debian in build/packages/; needs the tools of ./dev deb
	@scripts/build-deb

dist: $(NODE) ## Source and binary archives, SBOM and checksums in build/packages/, each made twice and compared
	@scripts/dist $(ARGS)

oci: build/build.ninja ## An image for containers in build/packages/, without a daemon
	@ninja -C build nb && scripts/oci $(ARGS)

site: $(NODE) ## The manual as static pages in build/site/
	@$(NODE) scripts/site.mjs $(ARGS)

clean: ## Remove everything that was built
	rm -rf build build-asan build-deb build-fuzz build-coverage build-interop build-bench-base build-arm64

help: ## Show this list
	@sed -n 's/^\([a-z][a-z0-9 ]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "  make %-26s %s\n", $$1, $$2 }'

build/build.ninja:
	@$(call configure,build,-Dwerror=$(WERROR))

build-asan/build.ninja build-fuzz/build.ninja: export CC_LD = $(LINKER)
build-asan/build.ninja:
	@$(call configure,build-asan,$(SANITIZE) $(O1_ARGS) -Dwerror=true)

build-fuzz/build.ninja: export CC = clang
build-fuzz/build.ninja:
	@$(call configure,build-fuzz,$(SANITIZE) -Dc_args=-g1 -Dfuzz=true)

# In half the time of -O2; what is promised of speed is measured in build/.
build-arm64/build.ninja: | $(ARM64)/root.ini
	@$(call configure,build-arm64,--cross-file $(ARM64)/root.ini --cross-file packaging/arm64/cross.ini -Doptimization=1 $(O1_ARGS) -Dwerror=true)

$(ARM64)/root.ini: packaging/arm64/root scripts/bootstrap
	@echo "unpacking Debian's libraries for arm64 into $(ARM64)/"
	@packaging/arm64/root $(ARM64) $$(scripts/bootstrap --libraries build test) $(ARM64_PACKAGES)

# meson talks a lot; what it says matters only when it fails.
configure = mkdir -p .cache && echo "configuring $(1)/" && \
	meson setup $(1) $(2) >.cache/setup.log 2>&1 || { cat .cache/setup.log; exit 1; }

$(NODE):
	@echo "make: node_modules/ is missing; run ./dev $(MAKECMDGOALS) (or scripts/bootstrap build test)" >&2
	@exit 1
