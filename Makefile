# All that people and CI do here. Needs make and Python 3.10 or newer; what else is needed goes into .venv.

PYTHON ?= python3
RUN := .venv/bin/python -m
FAST := not cc and not arm and not qemu and not slow

# Bytecode is kept even where a user keeps none: each process of the tests would compile all of Solder for itself.
export PYTHONDONTWRITEBYTECODE :=

# Compilers go through ccache if it is there: most firmware of the tests has the same runtime. Objects may then name
# the folder of another test as theirs, which only a debugger reads. zig and mypy keep what they have found of files.
# Tests have their own folder for caches: compilers would look there, too, and find nothing.
test check golden mutants: export PATH := /usr/lib/ccache:$(PATH)
test check golden mutants: export CCACHE_NOHASHDIR := 1
test check golden mutants: export CCACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ccache
test check golden mutants: export ZIG_GLOBAL_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zig
lint: export MYPY_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/solder/mypy

.PHONY: demo test check lint golden docs bench fuzz fuzz-graphs fuzz-long coverage mutants newcomer release dist

demo:  ## compile the bundled model, run it on an emulated board and on this machine
	@$(PYTHON) .ci/prepare.py demo
	@$(RUN) deploy.demo

test:  ## everything; installs compilers and QEMU where it may
	$(PYTHON) .ci/prepare.py test
	$(MAKE) --no-print-directory lint
	$(RUN) pytest -n 2 --dist worksteal -q

check:  ## lint, types, layers and the fast tests, in about a minute
	$(PYTHON) .ci/prepare.py check
	$(MAKE) --no-print-directory lint
	$(RUN) pytest -n 2 --dist worksteal -q -m "$(FAST)"

lint:
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	.venv/bin/lint-imports --no-logo

golden:  ## rewrite tests/golden; read the difference before committing it
	$(PYTHON) .ci/prepare.py check
	$(RUN) pytest -q --update-golden

docs: export NO_MKDOCS_2_WARNING := 1  # about a version that is not used here
docs:  ## the documentation as a site, in build/site
	$(PYTHON) .ci/prepare.py docs
	$(RUN) mkdocs build --strict --quiet

bench:  ## measure every case again; read the difference before committing it
	$(PYTHON) .ci/prepare.py check
	$(RUN) benchmarks measure
	$(RUN) benchmarks report > benchmarks/results.md
	$(RUN) benchmarks measure-memory
	$(RUN) benchmarks memory > benchmarks/memory.md

bench-all: bench  ## measure every page of figures again, in hours: each says at which commit it was made
	$(RUN) benchmarks pages

fuzz:  ## a million random and mutated frames under the sanitizers; 20,000 damaged files of all kinds
	$(PYTHON) .ci/prepare.py check
	FUZZ_ROUNDS=1000000 $(RUN) pytest -q tests/rpc/test_fuzz.py
	PYTHONPATH=.:tests/fuzz:tests/models:tests/one_op .venv/bin/python tests/fuzz/fuzz_run.py

fuzz-graphs:  ## 5,000 ONNX graphs drawn at random, and 40 TFLite models of each operator, against their runtimes
	$(PYTHON) .ci/prepare.py check
	PYTHONPATH=.:tests/drawn_graphs:tests/models:tests/programs:tests/suites .venv/bin/python tests/drawn_graphs/graph_run.py
	ONE_OP_EACH=40 $(RUN) pytest -q tests/one_op/test_one_op.py

fuzz-long:  ## ten million frames, a million files, ten million requests about cartridges, in hours; writes benchmarks/fuzz.md
	$(PYTHON) .ci/prepare.py check
	$(RUN) benchmarks frames > benchmarks/fuzz.md
	echo >> benchmarks/fuzz.md
	PYTHONPATH=.:tests/fuzz:tests/models:tests/one_op .venv/bin/python tests/fuzz/fuzz_run.py --count 1000000 >> benchmarks/fuzz.md
	echo >> benchmarks/fuzz.md
	PYTHONPATH=.:tests/fuzz:tests/programs .venv/bin/python tests/fuzz/cartridge_fuzz.py >> benchmarks/fuzz.md

coverage:  ## branches of the device runtime that its tests take; stores the counts that `deploy evidence` reads
	$(PYTHON) .ci/prepare.py check
	$(RUN:-m=) tests/runtime_coverage/runtime_coverage.py --store

mutants:  ## some 470 small changes of the code, one at a time; prints those that no test sees and stores the scores
	$(PYTHON) .ci/prepare.py test
	$(RUN:-m=) tests/mutants/try_changes.py --store

newcomer:  ## the first hours of newcomers, from the wheel, in fresh environments of each Python that is here
	$(PYTHON) .ci/prepare.py check
	.venv/bin/python tests/newcomer/newcomer_run.py

release:  ## make release VERSION=1.2.3: the changelog's summary becomes a version; then `make golden`, commit
	$(PYTHON) .ci/release.py name $(VERSION)

dist:  ## wheel and sdist in build/dist, checked by twine and tried in fresh environments outside the tree
	$(PYTHON) .ci/prepare.py dist
	$(RUN:-m=) .ci/release.py check
