"""Faults in Gazebo: what is judged, without one; and one of them for real, where it is."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from cnoid_control.faults import gazebo
from cnoid_control.faults.gazebo import GAZEBO_FAULTS, run_gazebo
from cnoid_control.faults.gazebo_testbed import CLOCK, missing_gazebo

SAID = 'safe state: no clock of the simulator, which has ended or hangs, for 3.05 s (limit 3 s)'


class FakeRig:
    """What is seen of a Gazebo."""

    def __init__(self, entered: float = 0.0, reason: str = '', last: float = 0.0, bad: int = 0):
        self.notes = ['something']
        self.clock_limit = 3.0
        self._line = (entered, reason)
        times = type('Times', (), {'last_before': lambda _, moment: last})()
        commands = type('Commands', (), {'bad': bad})()
        self.wire = type('Wire', (), {'topics': {CLOCK: times}, 'commands': commands})()

    def when(self, words: str) -> tuple[float, str]:
        """Time and text of the safe state's line."""
        return self._line


def fault(name: str) -> gazebo.GazeboFault:
    """Return the fault of this name."""
    return next(one for one in GAZEBO_FAULTS if one.name.startswith(name))


@pytest.mark.parametrize(
    ('name', 'rig', 'problem', 'survived', 'reaction', 'words'),
    [
        ('Gazebo hangs', FakeRig(13.05, SAID, 10.0), '', True, 50.0, SAID),
        ('Gazebo hangs', FakeRig(14.0, SAID, 10.0), '', False, 1000.0, 'later than 500 ms'),
        ('Gazebo hangs', FakeRig(), '', False, None, 'was not entered for that: never'),
        ('Gazebo hangs', FakeRig(13.0, 'safe state: x', 10.0), '', False, None, 'for that: safe'),
        ('Gazebo paused', FakeRig(), '', True, None, 'something'),
        ('Gazebo paused', FakeRig(13.0, SAID, 10.0), '', False, None, 'entered the safe state'),
        ('Gazebo paused', FakeRig(), 'SR1 does not stand', False, None, 'SR1 does not stand'),
        ('Gazebo paused', FakeRig(bad=2), '', False, None, '2 bad commands on the wire'),
    ],
)
def test_what_must_hold_is_judged(name, rig, problem, survived, reaction, words) -> None:
    """The reason and the time of the safe state, the robot, and every command on the wire."""
    result = gazebo._result(fault(name), rig, problem)
    assert result.survived is survived
    assert result.reaction_ms == (None if reaction is None else pytest.approx(reaction))
    assert words in result.outcome
    assert result.where == 'gazebo'


def test_every_fault_has_a_name_of_its_own() -> None:
    """Rows of the table can be asked for by name, and none is that of another set-up."""
    from cnoid_control.faults.dds import DDS_FAULTS

    names = [one.name for one in (*GAZEBO_FAULTS, *DDS_FAULTS)]
    assert len(set(names)) == len(names)


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(missing_gazebo()), reason=f'needs Gazebo: {missing_gazebo()}')
def test_a_gazebo_that_was_killed_comes_back() -> None:
    """The node stops, says why, and one call brings it back."""
    result = run_gazebo(fault('Gazebo killed and restarted'))
    # A machine that is busy with other tests may be late; everything else must hold.
    assert result.survived or 'later than' in result.outcome, result.outcome
    assert result.outcome.startswith('safe state: no clock of the simulator')
    assert 'after ~/reset the controller runs; SR1 stands' in result.outcome
