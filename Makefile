# Needs python3 (3.11 to 3.13, with venv) and make; everything else comes from requirements.lock.

PYTHON ?= python3

# What is given is handed over as it stands: make expands it in no recipe, and no shell reads it.
GIVEN := CONFIG ARCHIVES ALLOW_SUBSET ONLY TARGET CORES PYTHON
define literal
override $(1) := $$(value $(1))
export $(1)
endef
$(foreach name,$(GIVEN),$(if $(filter-out undefined,$(origin $(name))),$(eval $(call literal,$(name)))))

BIN := .venv/bin
LAUNCH := $(BIN)/python -m replication.launch

.PHONY: help install reproduce plan report report-public test lint lock clean

help:
	@echo 'make reproduce [CONFIG=config.yaml] [ARCHIVES=<folder>] [ALLOW_SUBSET=true] [TARGET=<target or file>] [CORES=<n>]'
	@echo '               [ONLY=<data set>,...]: without the other data sets'
	@echo 'make plan      what a run with the same arguments would do'
	@echo 'make report    one HTML file of all figures of a finished run; for your own eyes'
	@echo 'make report-public   the same without pictures of data that may not be passed on'
	@echo 'make test      the test suite'
	@echo 'make lint      format, lint, import walls and types'
	@echo 'make lock      renew requirements.lock from pyproject.toml (needs uv)'
	@echo 'make clean     remove results/ and the unpacked raw data; archives and .venv stay'

reproduce: install
	@$(LAUNCH)

plan: install
	@$(LAUNCH) plan

report: install
	@$(LAUNCH) report

report-public: install
	@$(LAUNCH) report-public

test: install
	$(BIN)/python -W error -m pytest --numprocesses auto --dist loadgroup

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/lint-imports
	$(BIN)/mypy

install: .venv/installed

# The stamp is written last, so an installation that was interrupted starts afresh.
.venv/installed: requirements.lock pyproject.toml
	@"$$PYTHON" -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else "Python 3.11 to 3.13 is needed, this is " + sys.version.split()[0] + "; try make PYTHON=python3.12 ...")'
	@echo 'Installing the locked packages into .venv (about two minutes) ...'
	@rm -rf .venv
	@"$$PYTHON" -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lock:
	uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate --extra workflow --extra dev pyproject.toml -o requirements.lock

# Without an environment nothing of ours can be at work.
clean:
	@if [ -e .venv/installed ]; then $(LAUNCH) clean; else rm -rf results data/raw .snakemake; fi
