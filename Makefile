# The commands of the house. Each makes the environment that it needs; nothing but Python 3.11+, make and a shell must be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Of its own: nothing else needs what builds the handbook.
DOCS_VENV := .venv-docs
HANDBOOK := dist/handbook
UV := $(shell command -v uv 2>/dev/null || echo $(BIN)/uv)
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --no-deps  # a lock lists all that it needs
READING = $(wildcard $(addprefix tests/analytics/test_, $(addsuffix .py, canonical channels compiling ibans line_cache lines memory_fence \
	merchant partners references sepa word_scan))) tests/models/test_features.py
PROCESSES ?= 3  # of the tests: one more than cores, since a third of the time they wait for services

unexport PYTHONDONTWRITEBYTECODE  # with it, every process would compile all that it imports

.PHONY: run check test again thorough bench fints scale fairness soak fuzz lint compiled bounds simulated collected chromium format audit lock docs screenshots clients clean

run: $(VENV)/.run  ## start everything: database, API, Dagster, demo tenants; the handbook is built beside it
	@$(MAKE) --no-print-directory docs >/dev/null 2>&1 &
	@$(BIN)/kontor up

test: $(VENV)/.dev  ## everything that CI runs
	@$(MAKE) --no-print-directory --jobs 3 chromium lint compiled simulated collected
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder || \
	{ [ $$? = 1 ] && [ -n "$$CI" ] && $(MAKE) --no-print-directory again; }

again: $(VENV)/.dev  ## once more the tests that failed, one after the other; a fault if they are more than five
	@[ "$$(grep -c true .pytest_cache/v/cache/lastfailed)" -le 5 ]
	@echo "Tests that failed beside others, alone:"
	$(BIN)/python -m pytest -v -p no:xdist --last-failed --last-failed-no-failures none

check: $(VENV)/.dev  ## format, lint, types, import contracts, and all tests that need no running service
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -q -m "not thorough and not service" -n 2 --dist loadfile --no-loadscope-reorder

thorough: $(VENV)/.dev compiled simulated  ## slow tests that rarely fail, and all generated examples: before a release
	EXAMPLES=all $(BIN)/python -m pytest -m "thorough or hypothesis" -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.dev  ## format, lint (with the rules of bandit), types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

compiled: $(VENV)/.dev  ## compile the taggers, as the first start would
	$(BIN)/python -m pipelines.warm_up

bounds: $(VENV)/.dev  ## the tests of reading with every access to an array checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.kontor/bounds $(BIN)/python -m pytest -q -p no:xdist $(READING)

chromium:  ## whether there is a browser for the tests of pages; in CI it is installed, elsewhere only with INSTALL_CHROMIUM=yes
	@for name in chromium-headless-shell chromium chromium-browser google-chrome; do ! command -v $$name >/dev/null || exit 0; done; \
	[ -n "$$CI$$INSTALL_CHROMIUM" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	&& { apt-get install -y -qq chromium-headless-shell || apt-get install -y -qq chromium; } >/dev/null \
	|| echo "There is no Chromium: tests of pages in a browser will be skipped. Install the package chromium, or run with INSTALL_CHROMIUM=yes as root."

simulated: $(VENV)/.dev  ## compile what simulates people, which only tests and training need
	$(BIN)/python -c "from models.simulator import simulate; simulate(6, 3)"

collected: $(VENV)/.dev  ## compile the tests once, before several processes would each do it
	@[ -d tests/spec/__pycache__ ] || $(BIN)/python -m pytest -q -p no:xdist --collect-only >/dev/null || true

format: $(VENV)/.dev  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## measure, as ratios within one run
	$(BIN)/python tests/bench/run.py
	$(BIN)/python tests/bench/buckets.py
	$(BIN)/python tests/bench/engines.py
	$(BIN)/python tests/bench/searching.py
	$(BIN)/python tests/bench/statements.py
	$(BIN)/python -m tests.bench.corrections

fints: $(VENV)/.dev  ## the refresh of 200 FinTS logins with 1,500 bookings each by one worker, as a ratio to the bank's own time
	$(BIN)/python -m tests.bench.fints $(FINTS)

scale: $(VENV)/.dev compiled simulated  ## cost per user of 2,000, 8,000 and 20,000 simulated households, from the bank to served results; hours of two cores
	$(BIN)/python -m tests.bench.scale $(SCALE)

fairness: $(VENV)/.dev compiled  ## what 200 requests at once of one tenant cost others, for each costly kind of request
	$(BIN)/python tests/bench/fairness.py $(FAIRNESS)

soak: $(VENV)/.dev compiled simulated  ## mixed load for 20 minutes, in which something is killed every 15 seconds
	$(BIN)/python tests/soak/run.py $(SOAK)

fuzz: $(VENV)/.dev compiled simulated  ## hostile values, generated requests in sequences, and the model of the interface, for 10 minutes each
	$(BIN)/python tests/soak/fuzz.py $(FUZZ)

clients: $(VENV)/.dev compiled  ## clients in Python, TypeScript and Java in dist/clients, generated, compiled and used once; needs Java, Maven, Node
	CLIENTS_FOLDER=dist/clients $(BIN)/python -m pytest -q -p no:xdist -m thorough tests/client/test_languages.py

audit: $(VENV)/.dev  ## known weaknesses in what we depend on; the list of it in dist/sbom.json
	$(BIN)/python -m tests.house.audit

lock: $(VENV)/.uv  ## renew the lock files
	$(COMPILE) docs/requirements.in -o docs/requirements.lock
	echo "typer>=0.29" >$(VENV)/overrides.txt  # openapi-python-client asks for an older one than we have, and works with ours
	$(COMPILE) --extra build pyproject.toml -o requirements.lock
	$(COMPILE) --overrides $(VENV)/overrides.txt --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --extra build --extra dask -c requirements-dev.lock pyproject.toml -o requirements-dask.lock

docs: $(HANDBOOK)/index.html  ## build the handbook from docs/ in dist/handbook, which the API serves at /handbook

$(HANDBOOK)/index.html: $(DOCS_VENV)/.docs mkdocs.yml $(wildcard docs/*.md docs/*/*.md docs/images/*)
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --quiet --strict --site-dir $(HANDBOOK).new
	@rm -rf $(HANDBOOK) && mv $(HANDBOOK).new $(HANDBOOK)

screenshots: $(VENV)/.dev  ## take the pictures of docs/images anew, with the system's Chromium
	$(BIN)/python docs/screenshots.py

clean:  ## remove the environment; data stay
	rm -rf $(VENV) $(DOCS_VENV)

$(VENV)/.uv:
	@if [ -x "$(UV)" ] && [ "$(UV)" != "$(BIN)/uv" ]; then "$(UV)" venv --quiet --allow-existing --python $(PYTHON) $(VENV); \
	else $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv; fi
	@touch $@

$(DOCS_VENV)/.docs: $(VENV)/.uv docs/requirements.lock
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(UV) pip install --quiet --python $(DOCS_VENV)/bin/python --no-deps --require-hashes -r docs/requirements.lock
	@touch $@

$(VENV)/.run: $(VENV)/.uv requirements.lock pyproject.toml
	@echo "Installing Kontor …"
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.lock
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
