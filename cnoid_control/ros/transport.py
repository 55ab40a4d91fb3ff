"""The way in which messages go from process to process, where Fast DDS carries them.

Before a sender uses the shared memory of a reader for the first time it looks whether that reader
is alive, and sleeps for a third of a second where it seems not to be: inside the call that
publishes a state or a command. Where the reader seems dead it takes a memory of its own, and the
reader never hears anything. UDP is as fast for small messages, and has neither.
"""

from __future__ import annotations

import os

from cnoid_control.share import shared_file

MIDDLEWARE = 'RMW_IMPLEMENTATION'
FAST_DDS = 'rmw_fastrtps'
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
UDP = 'UDPv4'
# Of the second and of the third Fast DDS.
PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
# Of old; it overrules the range.
LOCALHOST_ONLY = 'ROS_LOCALHOST_ONLY'


def avoid_shared_memory() -> None:
    """Have Fast DDS send by UDP, unless the user has chosen other transports.

    It counts for contexts that are made from now on, and for processes that are started.
    """
    given = os.environ
    if not (given.get(MIDDLEWARE) or FAST_DDS).startswith(FAST_DDS):
        return
    if any(given.get(name) for name in PROFILES) or given.get(TRANSPORTS, UDP) != UDP:
        return
    if given.get(LOCALHOST_ONLY) == '1' or given.get(RANGE) == 'LOCALHOST':
        # That brings shared memory with it; the profile does all else that it does.
        given.pop(LOCALHOST_ONLY, None)
        given[RANGE] = 'SYSTEM_DEFAULT'
        given.update(dict.fromkeys(PROFILES, str(_loopback_profile())))
    else:
        given[TRANSPORTS] = UDP


def stay_on_this_machine() -> None:
    """Have contexts, and processes that are started, find others on this machine alone."""
    if os.environ.get(PROFILES[0]) != str(_loopback_profile()):
        os.environ[RANGE] = 'LOCALHOST'
        avoid_shared_memory()


def _loopback_profile() -> os.PathLike[str]:
    return shared_file('config', 'loopback.xml')
