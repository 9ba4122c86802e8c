# SPDX-License-Identifier: MIT
# The two commands of the README, `make demo` and `make test`, and what they are made of.
# Everything lands in .venv/ and build/; both can be deleted at any time.

SHELL   := /bin/sh
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
MESON   := $(BIN)/meson
BUILD   := build/native
STAMPS  := $(VENV)/.stamps
PIP_BUILD := $(BIN)/pip install --quiet --no-build-isolation --no-deps --force-reinstall
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Ninja would take part in make's own scheduling and stumble over it.
unexport MAKEFLAGS
unexport MFLAGS

C_SOURCES      := $(shell find include src examples/c tests/c bench/c bench/noise python/ext -type f 2>/dev/null) \
                  meson.build meson_options.txt bench/meson.build
PYTHON_SOURCES := $(shell find include src python -type f -not -path '*/__pycache__/*' 2>/dev/null) \
                  pyproject.toml meson.build meson_options.txt

.PHONY: build demo test torch lint bench format tidy clean

## build: the C library, the examples, and tdtune and triton_dist importable in .venv/
build: $(BUILD)/.built $(STAMPS)/packages

## demo: the main job on the CPU, without torch: tune, show, and (the first and last) answer from disk
demo: build
	@echo; echo "== a blocked matrix product in C =="
	@$(BUILD)/examples/c/gemm
	@echo; echo "== two kernels in C, tuned where a pipeline runs them =="
	@$(BUILD)/examples/c/pipeline
	@echo; echo "== a row normalisation in NumPy =="
	@$(BIN)/python examples/python/chunked_norm.py

## test: every suite, C and Python; the last line counts
test: prerequisites-test build $(STAMPS)/test-requirements $(STAMPS)/triton-oldest
	@$(BIN)/python tests/run.py

## torch: torch and Triton into .venv/, for the examples that use them
torch: build $(STAMPS)/test-requirements

## lint: format, types and warnings, without running anything
lint: prerequisites-test build $(STAMPS)/test-requirements
	@$(BIN)/python tests/run.py lint

## bench: every bench that fits this machine, in one table; PEER=<checkout of Triton-distributed> adds its rows
bench: prerequisites-test build $(STAMPS)/test-requirements
	@$(BIN)/python bench/all.py

## format: rewrites the sources in the one style
format:
	$(BIN)/clang-format -i $$(git ls-files '*.c' '*.h')
	$(BIN)/ruff format python tests examples bench
	$(BIN)/ruff check --fix python tests examples bench

## tidy: clang-tidy over the library and the extension (install clang-tidy first)
tidy: build
	@test -f build/tidy/build.ninja || CC=clang $(MESON) setup build/tidy -Dpython=enabled >/dev/null
	git ls-files 'src/*.c' 'python/ext/*.c' | xargs -P 4 -n 8 clang-tidy -p build/tidy --quiet

clean:
	rm -rf build $(VENV) .autotune_logs

.PHONY: prerequisites-build prerequisites-test
prerequisites-build:
	@scripts/prerequisites.sh build
prerequisites-test:
	@scripts/prerequisites.sh test

$(STAMPS)/venv: | prerequisites-build
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --upgrade pip
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/build-requirements: requirements/build.txt | $(STAMPS)/venv
	@echo "installing what the build needs into $(VENV)"
	@$(BIN)/pip install --quiet -r requirements/build.txt
	@touch $@

$(STAMPS)/test-requirements: requirements/test.txt $(STAMPS)/build-requirements
	@echo "installing what the tests need into $(VENV) (torch is large)"
	@$(BIN)/pip install --quiet -r requirements/test.txt
	@touch $@

# The oldest Triton that contextual tuning supports, beside the newest; no newer torch comes with it.
$(STAMPS)/triton-oldest: requirements/triton-oldest.txt $(STAMPS)/build-requirements
	@echo "installing the oldest supported Triton into build/triton-oldest"
	@rm -rf build/triton-oldest
	@$(BIN)/pip install --quiet --no-deps --target build/triton-oldest -r $<
	@touch $@

$(BUILD)/.built: $(C_SOURCES) $(STAMPS)/build-requirements
	@test -f $(BUILD)/build.ninja || $(MESON) setup $(BUILD) -Dtests=disabled --buildtype=release >/dev/null
	@$(MESON) compile -C $(BUILD) >$(BUILD)/compile.log || { cat $(BUILD)/compile.log; exit 1; }
	@touch $@

$(STAMPS)/packages: $(PYTHON_SOURCES) $(STAMPS)/build-requirements
	@echo "building tdtune and triton_dist into $(VENV)"
	@$(PIP_BUILD) --config-settings=build-dir=build/python .
	@$(PIP_BUILD) --config-settings=build-dir=build/names ./python/triton_dist
	@touch $@
