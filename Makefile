# The doors of the house. `make help` lists them; CI opens the same ones (.ci/run).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:

PY := .venv/bin/python
# Two cores, two processes. TESTS and ARGS narrow a run: make test TESTS=tests/hosts ARGS=-x
JOBS ?= 2
TESTS ?= tests
ARGS ?=
# The whole suite answers for every required file; a narrowed run does not.
WHOLE := $(if $(filter tests,$(TESTS)),$(if $(ARGS),,1),)
CODE := webapp people hosts runs scripts tests benchmarks manage.py
PRESENT = $(wildcard $(CODE))

.PHONY: help
help: ## list these doors
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: venv venv-dev
venv: ## make .venv with what Throughline runs on (nothing to do if the lock is installed)
	@sh scripts/venv.sh requirements.txt

venv-dev: ## the same with what checks and tests it
	@sh scripts/venv.sh requirements-dev.txt

.PHONY: demo
demo: venv ## run everything here, with a simulated engine; prints a sign-in link (ARGS="--port 9000")
	@exec $(PY) manage.py demo $(ARGS)

.PHONY: demo-verdicts
demo-verdicts: venv ## measure on a demo of its own that verdicts can be trusted (45 minutes; ARGS="--scale 0.1")
	$(PY) -m scripts.demo_verdicts $(ARGS)

.PHONY: format
format: venv-dev ## write everything in the form that `make check` asks for
	$(PY) -m ruff check --fix $(PRESENT)
	$(PY) -m ruff format $(PRESENT)
	find templates -name '*.html' -print0 | xargs -0r .venv/bin/djade --target-version 5.2

.PHONY: check lint types django-checks templates imports audit
check: lint types django-checks templates imports ## everything that needs no run of the product

lint: venv-dev ## style and likely bugs
	$(PY) -m ruff check $(PRESENT)
	$(PY) -m ruff format --check $(PRESENT)

types: venv-dev ## types; strict where no Django is known
	$(PY) -m mypy

django-checks: venv-dev ## settings as deployed, and no model without its migration
	@set -e; var=$$(mktemp -d); trap 'rm -rf "$$var"' EXIT; mkdir "$$var/static"; \
	export THROUGHLINE_VAR="$$var" THROUGHLINE_HTTPS=1; \
	$(PY) manage.py check --deploy --fail-level WARNING; \
	$(PY) manage.py makemigrations --check --dry-run

templates: venv-dev ## every template compiles and is in form
	find templates -name '*.html' -print0 | xargs -0r .venv/bin/djade --check --target-version 5.2
	$(PY) -m pytest -q -p no:randomly tests/repository/test_templates.py

imports: venv-dev ## who may import whom, the locks, and that nothing installed contradicts another
	$(PY) -m pytest -q -p no:randomly tests/repository/test_imports.py tests/repository/test_locks.py
	$(PY) -m pip check

audit: venv-dev ## ask a public database for known holes (needs the internet; `make check` does not)
	$(PY) -m pip_audit --strict --require-hashes --disable-pip -r requirements-dev.txt

.PHONY: test test-tools test-postgres test-nodes
test: venv-dev test-tools ## every test; names and counts what this machine cannot run
	THROUGHLINE_WHOLE_SUITE=$(WHOLE) $(PY) -m pytest -n $(JOBS) --dist worksteal -m "not postgres and not nodes and not faults" $(TESTS) $(ARGS)

test-tools: ## sshd and Chromium by apt, where that is possible
	@sh scripts/tools.sh openssh-server:sshd chromium:chromium

test-postgres: venv-dev ## the database tests on a private PostgreSQL
	@sh scripts/tools.sh postgresql:initdb
	bash scripts/postgres.sh $(PY) -m pytest -n $(JOBS) --dist worksteal -m "(database or postgres) and not faults and not nodes" $(TESTS) $(ARGS)

.PHONY: faults
faults: venv-dev test-tools ## every fault of docs/faults.md, durations 1:10, eight rows at full scale
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not postgres" --ignore tests/faults/test_unscaled.py \
	  tests/faults tests/hosts/nodekit $(ARGS)
	$(PY) -m pytest -n 5 tests/faults/test_unscaled.py $(ARGS)
	@sh scripts/tools.sh postgresql:initdb
	bash scripts/postgres.sh $(PY) -m pytest -p no:randomly tests/faults/test_postgres.py $(ARGS)

SECONDS ?= 180
SEED ?= 1
ON ?= bash scripts/postgres.sh
.PHONY: chaos
chaos: venv-dev ## strike everything at random under six runs, then judge (SECONDS=180 SEED=1; ON= for SQLite)
	SECONDS=$(SECONDS) SEED=$(SEED) $(ON) $(PY) -m pytest -q -s -p no:randomly tests/faults/test_chaos.py $(ARGS)

test-nodes: venv-dev ## on real nodes with systemd, in network namespaces (root; named and counted elsewhere)
	@sh scripts/tools.sh systemd-container:systemd-nspawn mmdebstrap:mmdebstrap nftables:nft iproute2:ip openssh-client:ssh
	$(PY) -m pytest -p no:randomly -m nodes tests/nodes $(ARGS)

.PHONY: lock vendor bench screenshots
lock: venv-dev ## write requirements*.txt from requirements*.in (ARGS=--upgrade for newer releases)
	@for name in requirements requirements-dev; do \
	  CUSTOM_COMPILE_COMMAND="make lock" $(PY) -m piptools compile --quiet --generate-hashes \
	    --allow-unsafe --strip-extras --no-emit-options --no-emit-index-url --no-emit-find-links \
	    --output-file $$name.txt $(ARGS) $$name.in || exit 1; done

vendor: venv ## write static/vendor from the locked npm packages (needs node)
	$(PY) scripts/vendor.py $(ARGS)

bench: venv ## what the probe driver costs and how exact it is
	$(PY) -m benchmarks.probe_cost $(ARGS)

screenshots: venv-dev ## pictures of the real pages, from a demo of their own
	$(PY) -m scripts.screenshots $(ARGS)
