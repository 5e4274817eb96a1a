.DEFAULT_GOAL := help
BIN := .venv/bin

# Without uv on the PATH, .venv brings its own.
UV := $(or $(shell command -v uv),$(BIN)/uv)
# The compiler of protos/ has no wheels for 3.14.
PYTHON = $(shell for python in python3.11 python3.12 python3.13 python3; do $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$python && break; done)
# It lives apart, because it pins an older protobuf than the one that runs; its versions are the build's.
COMPILER := .venv/compiler
COMPILER_NEEDS = $(shell sed -n 's/^requires = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d ,)
# Stamps of what is done, so that a machine without a network can go on working.
SYNCED := .venv/.synced
READY := agents/lavagna/v1/.compiled

.PHONY: help setup protos format lint types imports test faults check serve demo bench clean

help: ## Lists these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

setup: $(READY) ## Installs everything, compiles the contract and adds the git hooks
	@$(BIN)/pre-commit install || echo "The git hooks could not be added; everything else is ready."

protos: $(COMPILER)/.installed ## Recompiles protos/ after an edit
	$(COMPILER)/bin/python protos/build.py
	@touch $(READY)

format: $(READY) ## Rewrites the code in the house style
	$(BIN)/ruff check --fix --fix-only .
	$(BIN)/ruff format .
	$(BIN)/buf format --write protos

lint: $(READY) ## Finds mistakes of style, in the code and in the contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/buf lint protos && $(BIN)/buf format --diff --exit-code protos

types: $(READY) ## Proves the types with both checkers
	$(BIN)/mypy
	$(BIN)/pyright

imports: $(READY) ## Proves that dependencies point one way
	$(BIN)/lint-imports --no-logo

test: $(READY) ## Runs the tests; `make test ONLY=tests/unit` runs some of them
	$(BIN)/python -m pytest -n auto --dist worksteal $(ONLY)

faults: $(READY) ## Kills, stalls and crowds servers; `make faults KILLS=500` kills more often
	$(BIN)/python -m pytest tests/faults

check: lint types imports ## Everything that can be told without running the code

serve: $(READY) ## Starts a server on this machine
	$(BIN)/lavagna serve

demo: $(READY) ## Watches a crew build a program over the board
	$(BIN)/lavagna demo

bench: $(READY) ## Measures the server against the bare limit of this machine
	$(BIN)/python -m tests.bench

clean: ## Removes what can be made again
	git clean -fdXq server agents tests protos
	rm -rf .*_cache .hypothesis dist

$(BIN)/uv:
	@test -n "$(PYTHON)" || { echo "Lavagna needs Python 3.11, 3.12 or 3.13, and none is on the PATH." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv

$(SYNCED): pyproject.toml uv.lock | $(UV)
	$(UV) sync --all-extras --python '>=3.11,<3.14' $(if $(CI),--locked)
	@touch $@

$(COMPILER)/.installed: $(SYNCED)
	$(UV) venv --quiet --clear --python $(BIN)/python $(COMPILER)
	$(UV) pip install --quiet --python $(COMPILER)/bin/python $(COMPILER_NEEDS)
	@touch $@

$(READY): $(COMPILER)/.installed protos/build.py $(wildcard protos/lavagna/v1/*.proto)
	$(COMPILER)/bin/python protos/build.py
	@touch $@
