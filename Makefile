# One word per job; each job sets up what it needs. A fresh clone needs only python3, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed

.PHONY: help setup demo test test-all lint bench peers docs clean

help:
	@echo "make demo      set up .venv and run the main job on the embedded default"
	@echo "make test      lint, types, stage order, tests (under 10 minutes)"
	@echo "make test-all  the same, with the long checks and golden values made anew"
	@echo "make bench     time and memory beside the peers; results in benchmarks/results"
	@echo "make lint      ruff, mypy and the stage order alone"
	@echo "make docs      check that the docs' links and names resolve"

setup: $(INSTALLED)

$(INSTALLED): requirements/dev.txt requirements/data.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --require-hashes --no-deps -r requirements/data.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/overread demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -m "not slow" -n 2 --cov --cov-report=term

test-all: lint peers
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

PEERS := .venv-peers

# A separate environment, because adelie needs numpy < 2. All peers have wheels for Linux on x86-64; elsewhere
# python-glmnet is built from source and needs gfortran.
peers: $(PEERS)/.installed

$(PEERS)/.installed: requirements/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r $<
	touch $@

# make bench BENCH=--quick takes smaller problems; BENCH=l1_path runs one module.
bench: setup peers
	$(BIN)/python -m benchmarks.run $(BENCH)

clean:
	rm -rf $(VENV) .venv-peers demo-output
