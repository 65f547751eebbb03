# Everything goes through `make install`; it needs Python 3.11 or newer, and nothing else.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BENCH_VENV  := .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.installed
# One more than there are cores: tests that start a JVM wait more than they work.
WORKERS := $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 7) + 1)')
PYTEST  := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --durations 20
# Tests start Calve hundreds of times: without its bytecode, it would be compiled each time.
unexport PYTHONDONTWRITEBYTECODE
# What a fast run leaves out.
SERVERS := jvm or postgres or rest or s3

.DEFAULT_GOAL := help
.PHONY: help install browser test coverage test-fast docs screenshots demo bench-capture bench-engine bench-playback bench-backfill bench-ui clean

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | column -t -s "$$(printf '\t')"

install: $(STAMP) ## Make .venv with Calve and all it needs; quick when nothing changed.

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Calve needs Python 3.11 or newer; set PYTHON=/path/to/it" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[all]'
	touch $@

test: install browser ## Check style, types and imports, and run all tests.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST)

coverage: install browser ## Run all tests, and show the lines that none of them reaches.
	$(PYTEST) --cov

browser: ## Install Chromium for the tests in a browser, where the machine lets us.
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	    test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	} || echo "Chromium is missing, and cannot be installed here: tests in a browser are left out" >&2

test-fast: install ## Run the tests that start no JVM and no database server.
	$(BIN)/pytest --numprocesses auto --hypothesis-profile=fast -m "not ($(SERVERS) or slow)" tests/unit

docs: install ## Make the reference pages in docs/reference anew from the code.
	$(BIN)/python -m tools.reference

screenshots: install browser ## Take the pictures of the pages that are in the docs.
	PYTHONPATH=tests $(BIN)/python -m browser.screenshots

demo: install ## Run the playback pipeline by lookback and by change, and compare them.
	$(BIN)/calve demo --home .demo

bench-capture: install ## Measure capture; results go to benchmarks/results.
	$(BIN)/python -m benchmarks.capture

bench-engine: install $(BENCH_STAMP) ## Measure the engine beside other engines; results go to benchmarks/results.
	$(BIN)/python -m benchmarks.engine

bench-playback: install ## Measure the playback pipeline, lookback beside incremental; OPTIONS="--rows 3000000" for less.
	$(BIN)/python -m benchmarks.playback $(OPTIONS)

bench-backfill: install ## Measure backfills: a few days beside all, plans, chunks; OPTIONS="--rows 5000 --days 20" for less.
	$(BIN)/python -m benchmarks.backfill $(OPTIONS)

bench-ui: install ## Measure pages and lists of a state with much in it; OPTIONS="--instances 50000" for less.
	$(BIN)/python -m benchmarks.ui $(OPTIONS)

# The other engines pin much that Calve uses in other versions, so they live apart.
$(BENCH_STAMP): pyproject.toml
	test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH_VENV)/bin/python -m pip install --quiet --group bench
	touch $@

clean: ## Remove what the other targets made.
	rm -rf $(VENV) $(BENCH_VENV) .demo .bench dist .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
