# `make demo` and `make test` set everything up themselves; they need Python 3.11 or newer.
# `make PYTHON=/path/to/python …` chooses the interpreter that .venv is made from.

PYTHONS   := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
VENV      := .venv
RUN       := $(VENV)/bin/python -P
FILES     := $(VENV)/.files
INSTALLED := build/.installed
FOLDERS   := protocol client collector analysis
PACKAGES  := $(FOLDERS:%=-p deniable.%)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-cluster test check format docs vectors bench install clean FORCE

help:
	@echo 'make demo          real devices, a collector and its estimates beside the truth'
	@echo 'make demo-cluster  the same, sealed, on two collectors, PostgreSQL and Valkey'
	@echo 'make test          the test suite (ARGS="-k name" is passed on to pytest)'
	@echo 'make check         lint, formatting and types'
	@echo 'make format        rewrite the code as `make check` wants it'
	@echo 'make docs          write docs/commands.md, docs/openapi.json and figures of docs/mechanisms.md anew'
	@echo 'make vectors       write protocol/test_vectors.json anew, after an entry was added'
	@echo 'make bench         every benchmark in turn'
	@echo 'make clean         remove .venv and all that was generated'

demo: install
	@$(RUN) examples/demo.py $(ARGS)

demo-cluster: install
	@$(RUN) examples/demo.py --cluster $(ARGS)

test: install
	@$(RUN) -m pytest -n 2 --dist worksteal $(ARGS)

check: install
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@found=$$($(RUN) -m mypy $(PACKAGES)); status=$$?; \
	  echo "$$found" | sed 's|^build/__editable__[^/]*/deniable/||'; exit $$status

format: install
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

docs: install
	@$(RUN) docs/generate.py
	@$(RUN) docs/generate_mechanisms.py
	@$(RUN) docs/generate_changing.py
	@$(RUN) docs/generate_openapi.py

vectors: install
	@$(RUN) -m deniable.protocol.vectors protocol/test_vectors.json

bench: install
	@set -e; for program in $(sort $(wildcard benchmarks/[a-z]*.py)); do \
	  echo "$$program"; $(RUN) $$program; \
	done

clean:
	rm -rf $(VENV) build dist ./*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

install: $(INSTALLED)

$(VENV)/bin/python:
	@for python in $(PYTHONS); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	  python=; \
	done; \
	test -n "$$python" || { \
	  echo 'Python 3.11 or newer is needed and none of these is: $(PYTHONS);' \
	    'name one with make PYTHON=/path/to/python' >&2; exit 1; }; \
	echo "Creating $(VENV) with $$("$$python" -V)"; \
	"$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

# The strict editable install links each file of the packages into build/, so it is done again
# when one comes or goes. $(FILES) changes only then, or when the whole tree was moved.
$(FILES): FORCE | $(VENV)/bin/python
	@{ pwd; find $(FOLDERS) -name '*.py' -o -name py.typed; } \
	  | LC_ALL=C sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(INSTALLED): setup.cfg pyproject.toml $(FILES) | $(VENV)/bin/python
	@echo 'Installing deniable and its tools into $(VENV) (a minute or two the first time)'
	@rm -rf build deniable.egg-info
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[dev]' --config-settings editable_mode=strict
	@touch $@
