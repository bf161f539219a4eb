# make run     set up .venv, then walk the whole way on the embedded example
# make test    set up .venv, then lint, types, import order and every test
# make check   the same without the slow tests
# make bench   the table of ratios
# make format  lay the code out
# make pins    renew constraints.txt (needs uv)
# make clean   remove .venv and everything that tools leave behind

PYTHON ?= python3
JOBS ?= 2
ARGS ?=

BIN := .venv/bin
# Relative, so that a space in the path does no harm; the environment also reaches pip's build of the package.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help run test check lint bench format pins clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

run: .venv/.core
	@$(BIN)/wevent demo $(ARGS)

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

check: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(ARGS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.dev
	$(BIN)/python benchmarks/core.py $(ARGS)
	$(BIN)/python benchmarks/store.py

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pins:
	printf 'hatchling\n' | uv pip compile pyproject.toml - --all-extras --universal --python-version 3.11 \
	  --fork-strategy fewest --no-annotate --no-header --no-emit-index-url --upgrade --quiet --output-file constraints.new
	{ head -n 1 constraints.txt; cat constraints.new; } > constraints.both
	rm constraints.new && mv constraints.both constraints.txt

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# The stamps say what .venv holds; they are older than what they depend on when it has to be installed anew.
.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[store,plot]'
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,all]'
	@touch .venv/.core $@
