"""Arguments of the browser view."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys

import pytest

pytest.importorskip('viser')

from cnoid_control.cli.main import main, make_parser
from cnoid_control.cli.run_command import view_parameters


def parameters(*words: str):
    """Return how `run` serves its page with these words."""
    return view_parameters(make_parser().parse_args(['run', 'sr1_pd', '--view', *words]))


def test_the_page_is_for_this_computer_and_only_looks():
    """Unless something else is asked for."""
    given = parameters()
    assert (given.host, given.token, given.act) == ('127.0.0.1', '', False)
    assert given.port >= 8080
    assert parameters('--view-act').act


def test_the_network_gets_a_token():
    """A made-up one, another each time; or the one that was given."""
    first, second = parameters('--view-host', '0.0.0.0'), parameters('--view-host', '0.0.0.0')
    assert len(first.token) >= 16
    assert first.token != second.token
    assert parameters('--view-host', '0.0.0.0', '--view-token', 'abcdefgh').token == 'abcdefgh'


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (['--view-token', 'short'], 'a token has at least 8'),
        (['--view-token', 'with a space'], 'a token has at least 8'),
        (['--view-port', '70000'], 'port is 70000'),
        (['--view-port', '-1'], 'port is -1'),
        (['--view-host', 'nowhere.invalid'], r'nowhere\.invalid'),
        (['--view-host', '192.0.2.1'], r'192\.0\.2\.1: Cannot assign'),
    ],
)
def test_what_cannot_be_served_is_refused(capsys, words, text):
    """Before anything runs."""
    assert main(['run', 'sr1_pd', '--view', *words]) == 1
    assert re.search(text, capsys.readouterr().err)


def test_a_port_that_is_taken_is_refused(capsys):
    """By its number."""
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(['run', 'sr1_pd', '--view', '--view-port', str(port)]) == 1
    assert f'127.0.0.1:{port}: Address already in use' in capsys.readouterr().err


def test_acting_without_a_view_is_refused(capsys):
    """It would have no effect."""
    assert main(['run', 'sr1_pd', '--view-act']) == 1
    assert '--view-act is for --view' in capsys.readouterr().err


def test_several_robots_have_no_page(capsys):
    """And that is said."""
    assert main(['run', 'two_arms_world', '--view']) == 1 or capsys.readouterr().err


def test_a_run_with_a_page_says_what_one_without_says():
    """One JSON object on the standard output, and the address on the other one."""
    done = subprocess.run(
        [
            *(sys.executable, '-m', 'cnoid_control.cli.main', 'run', 'sr1_pd', '--view'),
            *('--duration', '0.2', '--json'),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['exit'] == 'completed'
    assert 'Traceback' not in done.stderr
    # However short the run is: it waits until the page is there.
    assert 'view: http://127.0.0.1:' in done.stderr
