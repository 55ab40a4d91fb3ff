"""What every test shares: ROS kept to this machine, a ROS domain per test, no stray files."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cnoid_control.ros.transport import reserved_domain, stay_on_this_machine

# Fixtures that several rooms' tests need.
pytest_plugins = ['collection', 'distributions', 'ros_fixtures']

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run, few of them; `make fuzz` looks for others, for longer.
UNHURRIED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    'test', derandomize=True, max_examples=60, deadline=None, suppress_health_check=UNHURRIED
)
settings.register_profile(
    'fuzz',
    max_examples=int(os.environ.get('FUZZ_EXAMPLES', '20000')),
    deadline=None,
    suppress_health_check=UNHURRIED,
    print_blob=True,
)
settings.load_profile('test')


def pytest_configure() -> None:
    """Set the variables that ROS and matplotlib read, for this process and its children."""
    scratch = Path(tempfile.gettempdir()) / f'cnoid_control_test_{os.getuid()}'
    scratch.mkdir(exist_ok=True)
    stay_on_this_machine()
    # Who starts the tests in the background has them ignore it, and all that they start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # colcon's arguments are for this pytest, not for those that tests start.
    os.environ.pop('PYTEST_ADDOPTS', None)
    os.environ['ROS_LOG_DIR'] = str(scratch / 'ros_log')
    os.environ.setdefault('HOME', str(scratch))
    os.environ.setdefault('MPLCONFIGDIR', str(scratch / 'matplotlib'))
    os.environ['MPLBACKEND'] = 'Agg'
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
        os.environ.setdefault(name, '1')


@pytest.fixture(autouse=True)
def _heard_loggers() -> None:
    """Have the package's log heard where ROS's launch has made loggers that keep to themselves."""
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if name.partition('.')[0] == 'cnoid_control' and isinstance(logger, logging.Logger):
            logger.propagate = True


@pytest.fixture
def root() -> Path:
    """Return the checkout's folder."""
    return ROOT


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give the test, and the processes it starts, a ROS domain of its own."""
    with reserved_domain() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        yield domain
