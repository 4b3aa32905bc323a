# `make` alone lists what can be made. The work is in scripts/, which keep .venv up to date through this file.

PYTHON ?= python3
VENV := .venv
INPUTS := pyproject.toml setup.py constraints.txt $(wildcard src/bide/keeper/c/*.[ch] src/bide/excerpts/c/*.[ch])
PIP := PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(VENV)/bin/python -m pip install --quiet

.PHONY: help run test check conformance clients seeds acceptance bench torture vm mutate coverage clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1:\2/p' Makefile | while IFS=: read -r what why; do printf '%-14s %s\n' "$$what" "$$why"; done

run: $(VENV)/installed ## install into .venv and take the tour
	@$(VENV)/bin/bide tour

test: ## run the tests (ARGS="--slow" for all of them, or any pytest arguments)
	@scripts/test $(ARGS)

check: ## format, lint, types, layers
	@scripts/check

conformance: ## run the MCP conformance suite (installs it from npm into .venv)
	@scripts/conformance

acceptance: ## try the real claude, codex and gemini with a model on loopback (installs them from npm into .venv: 0.9 GB)
	@scripts/acceptance $(ARGS)

bench: ## measure, each figure beside its limit
	@scripts/bench $(ARGS)

torture: ## kill daemons and keepers at random under many jobs, for some minutes
	@scripts/torture $(ARGS)

vm: ## boot a real Debian in an emulator: limits, logout, restart, clock steps, power cuts (root, half an hour)
	@scripts/vm $(ARGS)

mutate: ## put small faults into the sources, one at a time, and see which ones no test notices (half an hour at most)
	@scripts/mutate $(ARGS)

coverage: ## run the tests and say what none of them reaches
	@scripts/coverage $(ARGS)

clients: ## use the MCP door with clients that others wrote, from npm
	@scripts/clients $(ARGS)

seeds: ## check every numbered behaviour from outside (ARGS="24 33 100-120", --json, --verbose)
	@scripts/seeds $(ARGS)

clean: ## remove .venv and everything built
	rm -rf $(VENV) build dist src/bide.egg-info src/bide/keeper/bide-keeper src/bide/excerpts/scan.so .coverage* .pytest_cache .ruff_cache .import_linter_cache
	find src tests bench seeds -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "bide needs Python 3.11 or newer as '$(PYTHON)'; install one, or name it: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/installed: $(INPUTS) | $(VENV)/bin/pip
	@echo "installing bide into $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: $(INPUTS) | $(VENV)/bin/pip
	@echo "installing bide and what its tests and checks need into $(VENV) ..."
	@$(PIP) --editable '.[dev]'
	@touch $(VENV)/installed $@
