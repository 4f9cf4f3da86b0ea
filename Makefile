# Everything from nothing: `make crawl` in a fresh clone. `make` alone lists what there is.

PYTHON ?= python3
NODES ?=
# Tests at a time; most of them wait for something. Each worker of pytest starts its own servers.
JOBS ?= 3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

# What a person types goes to the commands through the environment, so that no shell reads a URL's & or ;.
export URL PAGES DEPTH CONTACT NODES QUICK ONLY DOCS

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv crawl up down status test lint soak bench clean

help: ## List these targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16
	@echo
	@echo '  make crawl URL=https://example.org/ PAGES=500 DEPTH=4 CONTACT=you@example.org'

venv: $(VENV)/installed ## Make .venv, which every other target uses

crawl: venv ## Crawl the sample site, or URL (PAGES, DEPTH, CONTACT), on the embedded stack
	@set --; \
	[ -z "$$URL" ] || set -- "$$@" --url "$$URL"; \
	[ -z "$$PAGES" ] || set -- "$$@" --pages "$$PAGES"; \
	[ -z "$$DEPTH" ] || set -- "$$@" --depth "$$DEPTH"; \
	[ -z "$$CONTACT" ] || set -- "$$@" --contact "$$CONTACT"; \
	exec $(BIN)/python -m deploy crawl "$$@"

up: venv ## Start the embedded stack: Redis, MongoDB, two Scrapyd nodes (NODES)
	@exec $(BIN)/python -m deploy up $${NODES:+--nodes "$$NODES"}

down: venv ## Stop the embedded stack; its data stays
	@exec $(BIN)/python -m deploy down

status: venv ## Show what of the embedded stack runs
	@exec $(BIN)/python -m deploy status

test: lint ## Run every test but the long ones
	@exec $(BIN)/python -m pytest -m "not soak" -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations=15

lint: $(VENV)/installed-dev ## Check style, types and who imports whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	@$(BIN)/mypy

soak: $(VENV)/installed-dev ## Run the long tests
	@exec $(BIN)/python -m pytest -m soak

bench: $(VENV)/installed-bench ## Measure against plain Scrapy, scrapy-redis and Celery (QUICK=1, ONLY=throughput, DOCS=1)
	@exec $(BIN)/python -m benchmarks $${QUICK:+--quick} $${DOCS:+--docs} $${ONLY:+--only "$$ONLY"}

clean: ## Stop the stack and delete it, .venv and everything built
	@if [ -d .local ] && [ -x $(BIN)/python ]; then $(BIN)/python -m deploy down; fi
	@rm -rf .local $(VENV) build dist *.egg-info project.egg-info .scrapy .*_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps are files, so nothing is installed twice; the second waits for the first, also with -j.
$(VENV)/installed: requirements.txt requirements-deploy.txt requirements-local.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo 'Python 3.10 or newer is needed: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12' >&2; exit 1; }
	@echo 'installing into $(VENV), which takes a minute' >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements-local.txt
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.txt
	@$(PIP) -r requirements-dev.txt
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev requirements-bench.txt
	@$(PIP) -r requirements-bench.txt
	@touch $@
