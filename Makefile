# One word per job; each job sets up what it needs. A fresh clone needs only python3, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools
PEERS := .venv-peers
LABEL_STUDIO := .venv-label-studio
DATUMARO := .venv-datumaro
LARGE_PEERS := .venv-large-peers
LOWEST := .venv-lowest
DIST := .venv-dist
QUIET_PIP := -m pip --quiet --disable-pip-version-check
# The lists name every package that is needed, so pip looks for no others: pip 23 stops where an extra of a listed
# package has a newer release than the one listed.
LISTED := install --require-hashes --no-deps -r
PIP := $(BIN)/python $(QUIET_PIP)
# Always from nothing: what an earlier build warned of, it would not say again.
SITE = rm -rf docs/_build && $(BIN)/python -m sphinx -b html -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html

.PHONY: golden help setup tools system archive demo demo-read lint site kernels test test-all test-lowest fuzz peers large-peers label-studio datumaro bench docs figures dist clean

help:
	@echo "make demo      set up .venv with what a user needs and run the whole chain on the embedded cohort; ends with a page to look at"
	@echo "make demo-read open a reading room of simulated images: three readers' links and a detector, ready to try"
	@echo "make test      lint, types, stage order, the docs, tests; ends with the slowest of them"
	@echo "make test-all  the same, with the long checks, coverage, and golden values made again by the peers"
	@echo "make test-lowest  the tests with the lowest version of every dependency that pyproject.toml allows"
	@echo "make fuzz      damaged and forged files for every reader, for ten minutes"
	@echo "make bench     time and memory beside the peers; results in benchmarks/results"
	@echo "make lint      ruff, mypy, the stage order and the list of phrases alone"
	@echo "make docs      build the documentation site, docs/_build/html"
	@echo "make figures   make the figures of the docs again"
	@echo "make dist      build sdist and wheel, and try each in an environment of its own"

# What a user needs: the package and what it imports. The tools of test, lint, docs and bench are added to it later.
setup: $(INSTALLED)

$(INSTALLED): requirements/user.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(LISTED) requirements/user.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

tools: $(TOOLS)

$(TOOLS): $(INSTALLED) requirements/dev.txt requirements/data.txt
	$(PIP) $(LISTED) requirements/dev.txt
	$(PIP) $(LISTED) requirements/data.txt
	touch $@

# dciodvfy validates the DICOM files that the tests write, and dcmtk reads them as a viewer does; chromium, driven by chromedriver, opens and prints the pages,
# and ghostscript reads what was printed.
system:
	@missing=""; command -v dciodvfy >/dev/null || missing="$$missing dicom3tools"; \
	command -v dcmp2pgm >/dev/null || missing="$$missing dcmtk"; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	command -v chromedriver >/dev/null || missing="$$missing chromium-driver"; \
	command -v gs >/dev/null || missing="$$missing ghostscript"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null; \
	  else echo "not installed:$$missing (the tests that need them will be skipped)"; fi; fi

# Orthanc, a PACS that the long checks talk to in a network of its own. Installed as a service it would listen at every
# address of the machine, so it is installed only where that can be kept from starting.
archive:
	@command -v Orthanc >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    { systemctl --root=/ mask orthanc.service >/dev/null 2>&1 || [ -x /usr/sbin/policy-rc.d ]; }; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq orthanc >/dev/null; \
	  else echo "not installed: orthanc (the tests that need it will be skipped)"; fi; }

demo: setup
	$(BIN)/overread demo

demo-read: setup
	$(BIN)/overread demo-read

lint: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/words.py

# Neighbouring tests share what they build, so each of the two processes takes a half of them and then steals.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal --durations=25

# Types and pages are checked, and kernels compiled, side by side: a core each. Without that both processes of pytest
# would compile the same kernels, and most processes that tests start.
test: tools system
	$(MAKE) --jobs=2 --output-sync lint site kernels
	$(PYTEST) -m "not slow"

site: tools
	$(SITE)

kernels: tools
	$(BIN)/python tests/whole_chain.py > /dev/null

# The golden values are written again by the peers; git diff tests/golden shows whether anything moved.
test-all: tools system archive peers label-studio datumaro
	$(MAKE) --jobs=2 --output-sync lint site kernels
	$(PEERS)/bin/python -m benchmarks.golden_models
	$(PEERS)/bin/python -m benchmarks.golden_froc
	$(PEERS)/bin/python -m benchmarks.golden_crowd
	$(PEERS)/bin/python -m benchmarks.golden_texture
	$(PYTEST) --cov --cov-report=term
	$(BIN)/python tests/fuzz/run.py 600

# Another Python: make test PYTHON=python3.13 VENV=.venv-3.13. The lowest versions are tested with 3.11, the lowest of
# all; lowest.txt is made by requirements/write_lowest.py.
test-lowest: $(LOWEST)/.installed system
	$(LOWEST)/bin/python -m pytest -m "not slow" -n 2 --dist worksteal

$(LOWEST)/.installed: requirements/lowest.txt requirements/data.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python $(QUIET_PIP) $(LISTED) requirements/lowest.txt
	$(LOWEST)/bin/python $(QUIET_PIP) $(LISTED) requirements/data.txt
	$(LOWEST)/bin/python $(QUIET_PIP) install --no-deps --no-build-isolation --editable .
	touch $@

# Damaged and forged files for every reader; make fuzz SECONDS=3600 SEED=1000000 looks at other ones, for longer.
SECONDS ?= 600
SEED ?= 0
fuzz: setup
	$(BIN)/python tests/fuzz/run.py $(SECONDS) $(SEED)

# The site works from its folder, without a network. Its figures are in the repository, but for those of the examples,
# which are run for it; a page without its figure fails.
docs: tools
	$(BIN)/python docs/gallery.py docs/examples
	$(SITE)
	@echo "docs: docs/_build/html/index.html"

# The pages that tests compare whole; git diff tests/report/golden shows what moved.
golden: tools
	$(BIN)/python -m pytest tests/report/test_golden.py -q -n 0 --rewrite-golden

figures: tools
	for script in docs/explanation/*.py; do $(BIN)/python $$script || exit 1; done

# A separate environment, because adelie needs numpy < 2. All peers but pyradiomics have wheels for Linux on x86-64;
# elsewhere python-glmnet is built from source and needs gfortran. pyradiomics is built against the numpy that is
# installed before it, because its own list of build requirements asks for one that no longer builds.
peers: $(PEERS)/.installed

$(PEERS)/.installed: requirements/peers.txt requirements/pyradiomics.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(QUIET_PIP) $(LISTED) $<
	$(PEERS)/bin/python $(QUIET_PIP) $(LISTED) requirements/pyradiomics.txt --no-build-isolation
	touch $@

# A server of its own environment, for the round trip of tests/cli/test_label_studio_server.py.
label-studio: $(LABEL_STUDIO)/.installed

$(LABEL_STUDIO)/.installed: requirements/label-studio.txt
	$(PYTHON) -m venv $(LABEL_STUDIO)
	$(LABEL_STUDIO)/bin/python $(QUIET_PIP) $(LISTED) $<
	touch $@

# The package datumaro, which reads and writes many tools' formats, for tests/marks/formats/test_datumaro.py.
datumaro: $(DATUMARO)/.installed

$(DATUMARO)/.installed: requirements/datumaro.txt
	$(PYTHON) -m venv $(DATUMARO)
	$(DATUMARO)/bin/python $(QUIET_PIP) $(LISTED) $<
	touch $@

# What fits tables larger than memory, for python -m benchmarks.large_peers; two of them need Java.
large-peers: $(LARGE_PEERS)/.installed

$(LARGE_PEERS)/.installed: requirements/large-peers.txt
	$(PYTHON) -m venv $(LARGE_PEERS)
	$(LARGE_PEERS)/bin/python $(QUIET_PIP) $(LISTED) $<
	touch $@

# make bench BENCH=--quick takes smaller problems; BENCH=l1_path runs one module.
bench: tools peers
	$(BIN)/python -m benchmarks.run $(BENCH)

# The wheel runs the demo; the wheel that is built from the sdist must hold the same files.
dist: setup
	rm -rf dist $(DIST)
	$(BIN)/python -m hatchling build
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python $(QUIET_PIP) $(LISTED) requirements/user.txt
	$(DIST)/bin/python $(QUIET_PIP) wheel --no-deps --no-build-isolation --wheel-dir dist/again dist/*.tar.gz
	for wheel in dist/*.whl dist/again/*.whl; do \
	  $(DIST)/bin/python -m zipfile -l $$wheel | awk '{print $$1}' > $$wheel.names || exit 1; done
	cmp dist/*.names dist/again/*.names
	$(DIST)/bin/python $(QUIET_PIP) install --no-deps dist/*.whl
	cd $(DIST) && bin/overread --help > /dev/null && bin/overread demo --output demo
	du -sh $(DIST)/lib dist/*.whl dist/*.tar.gz

clean:
	rm -rf $(VENV) $(PEERS) $(LABEL_STUDIO) $(DATUMARO) $(LARGE_PEERS) $(LOWEST) $(DIST) dist demo-output demo-reading docs/_build
