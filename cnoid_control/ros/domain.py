"""ROS domains that no other program of this machine is using."""

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
from cnoid_control.ros.transport import stay_on_this_machine

# Higher domains use ports from which Linux takes the ports of ordinary connections.
DOMAINS = range(1, 102)
PARTICIPANTS = 20


class NoFreeDomain(CnoidControlError):
    """All ROS domains are in use."""


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
    raise NoFreeDomain(f'all {len(DOMAINS)} ROS domains of this machine are in use')
