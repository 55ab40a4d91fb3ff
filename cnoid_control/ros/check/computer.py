"""What this machine gives a controller: middleware, scheduling, memory."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import resource
from pathlib import Path

from cnoid_control.ros.check.survey import Computer
from cnoid_control.ros.transport import (
    FAST_DDS,
    LOCALHOST_ONLY,
    PROFILES,
    RANGE,
    TRANSPORTS,
)

HIGHEST_PRIORITY = 99
# Numbers of DDS-RTPS: ports of a domain, and the first one of its unicast.
FIRST_PORT, PORTS_PER_DOMAIN, UNICAST = 7400, 250, 10


def look_at_computer() -> Computer:
    """This machine, as the environment and the kernel describe it."""
    from rclpy.utilities import get_rmw_implementation_identifier

    given = os.environ
    domain = int(given.get('ROS_DOMAIN_ID') or 0)
    middleware = get_rmw_implementation_identifier()
    discovery = given.get(RANGE) or 'SUBNET'
    profile = next((given[name] for name in PROFILES if given.get(name)), '')
    if given.get(LOCALHOST_ONLY) == '1' or profile.endswith('loopback.xml'):
        discovery = 'LOCALHOST'
    transport = 'its own choice'
    if middleware.startswith(FAST_DDS):
        transport = given.get(TRANSPORTS) or ('profile ' + profile if profile else 'default')
    return Computer(
        domain=domain,
        middleware=middleware,
        discovery=discovery,
        transport=transport,
        cores=len(os.sched_getaffinity(0)),
        kernel=_kernel(),
        realtime_priority=_realtime_priority(),
        locked_memory=_soft_limit(resource.RLIMIT_MEMLOCK),
        shared_memory=shared_memory_ports(domain) if middleware.startswith(FAST_DDS) else 0,
    )


SHARED_MEMORY = Path('/dev/shm')
# The lock of a port, which its reader holds as long as it lives.
LOCK = re.compile(r'fast(?:rtps|dds)_port(\d+)_el')


def shared_memory_ports(domain: int, folder: Path = SHARED_MEMORY) -> int:
    """Number of unicast ports of a domain that somebody reads in shared memory of Fast DDS."""
    first = FIRST_PORT + PORTS_PER_DOMAIN * domain
    # The first ones of a domain are those of multicast.
    ports = range(first + UNICAST, first + PORTS_PER_DOMAIN)
    return sum(
        int(found.group(1)) in ports and _is_locked(path)
        for path in folder.glob('fast*_el')
        if (found := LOCK.fullmatch(path.name))
    )


def _is_locked(path: Path) -> bool:
    """Whether somebody holds a lock; files that are left over from a process have none."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # It has just gone, or is somebody else's.
        return False
    return False


def _kernel() -> str:
    version = platform.version()
    return f'{platform.release()}{" PREEMPT_RT" if "PREEMPT_RT" in version else ""}'


def _realtime_priority() -> int:
    """Highest priority that may be asked for: by the limit, or any with the right to."""
    limit = _soft_limit(resource.RLIMIT_RTPRIO)
    return HIGHEST_PRIORITY if limit < 0 or _may_change_scheduling() else limit


def _may_change_scheduling() -> bool:
    """Whether this thread gets first-in-first-out scheduling; it is given back at once."""
    policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(HIGHEST_PRIORITY))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, before)
    return True


def _soft_limit(kind: int) -> int:
    soft, _ = resource.getrlimit(kind)
    return -1 if soft == resource.RLIM_INFINITY else soft
