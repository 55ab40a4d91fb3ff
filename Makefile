# One command runs it, one command tests it. Everything stays inside this checkout.

PYTHON ?= python3
# The first interpreter that is new enough; empty where there is none.
NEW_ENOUGH := $(shell for p in '$(PYTHON)' python3.14 python3.13 python3.12 python3.11 python3.10; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo "$$p" && break; done)
# Relative to the checkout, whose path may have blanks.
VENV_PYTHON := .venv/bin/python

# Nothing is written to the home folder.
HOME ?= $(CURDIR)/.venv
export HOME
export XDG_CACHE_HOME := $(CURDIR)/.venv/cache
export MPLCONFIGDIR := $(CURDIR)/.venv/cache/matplotlib
export ROS_LOG_DIR := $(CURDIR)/out/log

# An activated environment with ROS wheels of its own would hand these down to ours.
ifdef _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
endif

.PHONY: help setup demo demo-g1 test test-browser lint bench docs fuzz load soak soak-robots faults pictures clean

help:
	@echo 'make demo   stand SR1 up in simulation with the ROS node in the loop; results in out/'
	@echo 'make demo-g1  G1 walks, is pushed, dances, loses its node; downloads robot and policies; results in out/'
	@echo 'make test   lint, type check and every test'
	@echo 'make test-browser   the tests of the page in a real browser; says how to get one'
	@echo 'make lint   lint and type check alone'
	@echo 'make bench  the performance table'
	@echo 'make docs   the documentation as a site, in out/site'
	@echo 'make faults the fault table, every fault in this process and through DDS'
	@echo 'make fuzz   look for inputs that break something, for long'
	@echo 'make load   how many robots at 1 kHz this machine bears in one graph'
	@echo 'make soak-robots   two robots in one graph for half an hour, with all cores busy'
	@echo 'make soak   100 000 take-overs; then ten minutes at 1 kHz, watching memory and late ticks'
	@echo 'make setup  the environment in .venv (the others do this by themselves)'
	@echo 'make pictures  the pictures of README and docs, drawn again; those of G1 need the cache'
	@echo 'make clean  remove everything that the others made'

setup:
	@if [ -z '$(NEW_ENOUGH)' ]; then \
		echo 'setup: Python 3.10 or newer is needed; name one: make PYTHON=/path/to/python3'; \
		exit 1; fi
	@'$(NEW_ENOUGH)' tools/setup_env.py

demo: setup
	@$(VENV_PYTHON) -m cnoid_control.demo

demo-g1: setup
	@$(VENV_PYTHON) -m cnoid_control.demo.g1

# Links and anchors are checked, and warnings are errors.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build --strict --quiet --site-dir out/site
	@echo 'docs: out/site/index.html'

lint: setup
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy

test: lint
	@$(VENV_PYTHON) -m pytest -n 2 --dist loadfile

# Screenshots are kept in out/browser.
test-browser: setup
	@$(VENV_PYTHON) -m pytest -rs test/viewer/browser

bench: setup
	@$(VENV_PYTHON) -m cnoid_control.cli.main bench

faults: setup
	@$(VENV_PYTHON) -m cnoid_control.cli.main faults

fuzz: setup
	@$(VENV_PYTHON) -m pytest --hypothesis-profile=fuzz --timeout 0 test/fuzz

load: setup
	@$(VENV_PYTHON) tools/robots.py

soak-robots: setup
	@$(VENV_PYTHON) tools/soak.py --robots 2

pictures: setup
	@$(VENV_PYTHON) tools/pictures.py

soak: setup
	@$(VENV_PYTHON) tools/soak.py --take-overs 100000
	@$(VENV_PYTHON) tools/soak.py

clean:
	rm -rf .venv out build install log *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
