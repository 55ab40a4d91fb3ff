"""What the command line imports before it knows what is wanted."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

import pytest

from cnoid_control.cli.command import COMMANDS, find_command
from cnoid_control.cli.list_command import describe_controllers, describe_hardware
from cnoid_control.cli.quick_start import quick_start
from cnoid_control.hardware.registry import hardware_kind, hardware_names
from cnoid_control.plugin.registry import controller_names, find_controller

SCRIPT = """
import json, sys
from cnoid_control.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(*words: str) -> set[str]:
    """Modules that a process has imported when a command is over."""
    result = subprocess.run(
        [sys.executable, '-c', SCRIPT, *words], capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_help_imports_no_library():
    """Nor any command: their names and one line on each are enough."""
    modules = modules_after('--help')
    heavy = {'numpy', 'pinocchio', 'mujoco', 'rich', 'yaml', 'importlib.metadata'}
    assert not modules & heavy
    assert not [name for name in modules if name.endswith('_command')]


def test_a_run_that_is_not_recorded_imports_nothing_for_logs_and_plots():
    """What is not asked for is not waited for."""
    modules = modules_after('run', 'sr1_pd', '--duration', '0.002', '--json')
    unused = {'mcap.records', 'matplotlib', 'rich.progress', 'numpy.ma', 'importlib.metadata'}
    assert not modules & (unused | {'cnoid_control.body.formats.choreonoid'})


def test_every_command_is_there():
    """The module that a name stands for defines what a command consists of."""
    for name in COMMANDS:
        command = find_command(name)
        assert callable(command.add_arguments)
        assert callable(command.run)


def test_the_list_says_what_classes_say_of_themselves():
    """Read from the source, the first lines are those of the documentation."""
    said = {name: (find_controller(name).__doc__ or '').strip() for name in controller_names()}
    assert describe_controllers() == {name: text.splitlines()[0] for name, text in said.items()}
    kinds = {name: hardware_kind(name).description for name in hardware_names()}
    assert describe_hardware() == kinds


def test_the_list_imports_nothing_of_what_it_names():
    """It is there before any of the libraries would be."""
    modules = modules_after('list', '--json')
    assert not modules & {'numpy', 'pinocchio', 'mujoco', 'mcap', 'cnoid_control.body'}


@pytest.mark.parametrize('enabled', [True, False])
def test_a_quick_start_leaves_the_collector_as_it_was(enabled):
    """It is off meanwhile, and on again only where it was on, also after an error."""
    before = gc.isenabled()
    seen = []

    @quick_start()
    def fail():
        seen.append(gc.isenabled())
        raise KeyError

    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError):
            fail()
        seen.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False, enabled]
