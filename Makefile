# Everything a newcomer or CI needs, from a bare machine: Python 3.11, make, and apt for what Python cannot bring.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Twice the cores of CI: half of what tests take is waiting for leases and processes to end.
PROCESSES ?= 4
# Tests start hundreds of processes: where the machine forbids it, each would compile all of the library anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo up test check unit docs wheel bench cluster soak soak-mail fuzz fuzz-api figures lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(STAMP) ## Put sample documents through docmill and show what was read
	$(BIN)/docmill demo

up: $(STAMP) ## Start the vault on this machine
	$(BIN)/docmill up

test: check unit ## Every check and every test

check: $(STAMP) docs ## Formatting, lint, types, layers, dependencies, links of the documentation
	command -v node >/dev/null || scripts/system-packages nodejs npm # for pyright
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/deptry src

docs: $(STAMP) ## Build the documentation into build/docs, with every link checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

unit: $(STAMP)
	scripts/system-packages chromium dovecot-imapd fonts-liberation libfaketime pgbouncer redis-server tesseract-ocr
	scripts/emulators
	$(BIN)/pytest -n $(PROCESSES) --dist worksteal

wheel: $(STAMP) ## Build the wheel into dist, for `pip install dist/docmill-*.whl`
	rm -rf dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

bench: $(STAMP) ## Measure the speeds we claim; BENCH=accuracy or BENCH=NAME for others, `python -m bench` lists all
	$(BIN)/python -m bench $(or $(BENCH),speed)

cluster: $(STAMP) ## Run two web servers and two workers, kill one on the way, and count what was lost
	$(BIN)/python -m bench cluster

soak: $(STAMP) ## Ten minutes of uploads while everything breaks; SOAK="--minutes 1 --documents 500" for less
	PYTHONPATH=tests $(BIN)/python -m soak $(SOAK)

soak-mail: $(STAMP) ## Fetch mails while the process that does is killed 50 times; SOAK="--kills 5 --mails 50" for less
	scripts/system-packages dovecot-imapd
	PYTHONPATH=tests $(BIN)/python -m soak.mailbox_kills $(SOAK)

fuzz: $(STAMP) ## Ten minutes of damaged files for every parser; FUZZ="--minutes 1 --only pdf" for less
	PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ)

fuzz-api: $(STAMP) ## Ten minutes of requests to every operation of the API; FUZZ="--minutes 1" for less
	PYTHONPATH=tests $(BIN)/python -m api_fuzz $(FUZZ)

figures: ## Count modules, functions, repeated names and the like in src; scripts/code-figures --help
	$(PYTHON) scripts/code-figures

lock: ## Pin the newest versions of everything
	scripts/lock

clean:
	rm -rf $(VENV)

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@
