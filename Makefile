# Every target sets up what it needs in .venv; a fresh checkout and Python 3.11 are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := taugraph.domains taugraph.tools taugraph.graphs taugraph.evaluators taugraph.experiments taugraph.cli

.PHONY: demo test check lint types package clean

demo: $(VENV)/runtime
	$(BIN)/taugraph run airline --limit 12

test: $(VENV)/development
	$(BIN)/python -m pytest -n 2 $(PYTEST_OPTIONS)

check: lint types test

lint: $(VENV)/development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/development
	mkdir -p build/links && ln -sfn ../.. build/links/taugraph
	$(BIN)/mypy $(addprefix -p ,$(PACKAGES)) -m taugraph

package: $(VENV)/development
	.ci/package $(BIN)/python

$(VENV)/runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/development: $(VENV)/runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
