# Every target makes its own environment: Python, make and a package index are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2
# Without byte code every process that a test starts would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo serve test test-all bench lint docs system clean fuzz audit wheels sanitize

$(READY): pyproject.toml scripts/environment.sh
	scripts/environment.sh $(PYTHON) $(VENV)
	touch $(READY)

demo: $(READY)
	$(BIN)/stereogauge demo --out demo-output

serve: demo
	scripts/evaluate-data.sh $(BIN) demo-output/demo.sqlite
	$(BIN)/stereogauge serve demo-output/demo.sqlite

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports
	scripts/lint-javascript.sh

system:
	scripts/system-packages.sh

test: $(READY) system lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

# With the lines that no test runs; counting them takes half as long again, so `test` leaves it out.
test-all: $(READY) lint sanitize
	scripts/system-packages.sh tex
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term

# Tests of the native kernels with address and undefined-behaviour sanitizers.
sanitize: $(READY)
	scripts/sanitize.sh $(BIN)/python

# Wheels for Linux, macOS and Windows in dist/, built here with zig; the one for this machine is installed and tried.
wheels: $(READY)
	scripts/wheels.sh $(BIN)/python dist

# Ten minutes of random input for everything that reads what strangers send; findings go to fuzz-findings/.
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --seconds 600

# Known vulnerabilities of the pinned versions; needs the network.
audit: $(READY)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip

# Times against peers; ARGS="--only sgm" runs a part, ARGS=--help says what there is.
bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) src/stereogauge/native/libstereogauge.* node_modules build dist site demo-output .mypy_cache .pytest_cache .ruff_cache
