"""Middleware transport and ROS domains."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.share import shared_file

MIDDLEWARE = 'RMW_IMPLEMENTATION'
FAST_DDS = 'rmw_fastrtps'
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
UDP = 'UDPv4'
# Of Fast DDS 2 and 3.
PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
# The older variable, which overrules the range.
LOCALHOST_ONLY = 'ROS_LOCALHOST_ONLY'


def avoid_shared_memory() -> None:
    """Make Fast DDS use UDP only, unless the user has chosen other transports.

    It applies to contexts and processes that are started from now on, so every `main` of the
    package calls it first; importing the package changes no variable.
    """
    given = os.environ
    if not (given.get(MIDDLEWARE) or FAST_DDS).startswith(FAST_DDS):
        return
    if any(given.get(name) for name in PROFILES) or given.get(TRANSPORTS, UDP) != UDP:
        return
    if given.get(LOCALHOST_ONLY) == '1' or given.get(RANGE) == 'LOCALHOST':
        # The range would enable shared memory; the profile does the rest of it.
        given.pop(LOCALHOST_ONLY, None)
        given[RANGE] = 'SYSTEM_DEFAULT'
        given.update(dict.fromkeys(PROFILES, str(_loopback_profile())))
    else:
        given[TRANSPORTS] = UDP


def stay_on_this_machine() -> None:
    """Limit discovery to this machine, for contexts and processes started from now on."""
    if os.environ.get(PROFILES[0]) != str(_loopback_profile()):
        os.environ[RANGE] = 'LOCALHOST'
        avoid_shared_memory()


def _loopback_profile() -> os.PathLike[str]:
    return shared_file('config', 'loopback.xml')


# Higher domains use ports from which Linux takes the ports of ordinary connections.
DOMAINS = range(1, 102)
PARTICIPANTS = 20


def is_quiet(domain: int) -> bool:
    """Tell whether the ports that a domain's first participants listen to are free here."""
    base = 7400 + 250 * domain
    # A process numbers its participants over all its domains: the only one may be a later one.
    for port in (base, *range(base + 10, base + 10 + 2 * PARTICIPANTS, 2)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', port))
            except OSError:
                return False
    return True


@contextmanager
def reserved_domain() -> Iterator[int]:
    """Reserve a domain for the block, across all processes of this user, overlapping runs too.

    From then on this process, and those that it starts, keep to this machine.
    """
    stay_on_this_machine()
    folder = Path(tempfile.gettempdir()) / f'cnoid_control_domains_{os.getuid()}'
    folder.mkdir(exist_ok=True)
    for domain in random.sample(DOMAINS, len(DOMAINS)):
        with (folder / f'{domain}.lock').open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if is_quiet(domain):
                yield domain
                return
    raise CnoidControlError(f'all {len(DOMAINS)} ROS domains of this machine are in use')
