from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body.exceptions import MotionError
from cnoid_control.body.formats.joint_motion import JointMotion, load_motion
from cnoid_control.share import shared_file

SEQUENCE = """
type: CompositeSeq
content: BodyMotion
formatVersion: 2
frameRate: 100
numFrames: 3
components:
  -
    type: Vector3Seq
    content: ZMP
    frames: [ [ 0, 0, 0 ] ]
  -
    type: MultiValueSeq
    content: JointDisplacement
    numParts: 2
    frames:
      - [ 0, 1e-3 ]
      - [ 0.1, -0.5 ]
      - [ 0.2, 3 ]
"""


def test_sequence_file_is_read(tmp_path: Path) -> None:
    """The joint displacements are found among the components of a .seq file."""
    path = tmp_path / 'motion.seq'
    path.write_text(SEQUENCE)
    motion = load_motion(path)
    np.testing.assert_array_equal(motion.q, [[0.0, 0.001], [0.1, -0.5], [0.2, 3.0]])
    assert motion.frame_rate == 100.0
    assert motion.duration == pytest.approx(0.02)


def test_newer_sequence_with_frame_times_is_read(tmp_path: Path) -> None:
    """The snake-case keys and the column of times of newer files are understood."""
    path = tmp_path / 'motion.seq'
    path.write_text(
        'type: MultiValueSeq\ncontent: JointDisplacement\nframe_rate: 50\n'
        'has_frame_time: true\nframes: [ [ 0.0, 1, 2 ], [ 0.02, 3, 4 ] ]\n'
    )
    motion = load_motion(path)
    np.testing.assert_array_equal(motion.q, [[1.0, 2.0], [3.0, 4.0]])
    assert motion.frame_rate == 50.0


def test_compact_form_keeps_the_motion(tmp_path: Path) -> None:
    """Saving and loading changes no displacement by more than half a step of the resolution."""
    rng = np.random.default_rng(1)
    motion = JointMotion(np.cumsum(rng.normal(0.0, 0.01, (500, 4)), axis=0), 200.0)
    motion.save(tmp_path / 'motion.npz')
    loaded = load_motion(tmp_path / 'motion.npz')
    np.testing.assert_allclose(loaded.q, motion.q, atol=5.1e-8)
    assert loaded.frame_rate == 200.0


def test_resampling_interpolates(tmp_path: Path) -> None:
    """Samples on frames are the frames, samples between them lie on straight lines."""
    motion = JointMotion(np.array([[0.0], [1.0], [4.0]]), 100.0)
    np.testing.assert_array_equal(motion.resampled(0.01), motion.q)
    np.testing.assert_allclose(motion.resampled(0.005).ravel(), [0.0, 0.5, 1.0, 2.5, 4.0])


def test_shipped_motions_are_sr1s() -> None:
    """The walking motions have 29 joints at 500 Hz and begin and end slowly."""
    for name, frames in (('sr1_walk_1', 6701), ('sr1_walk_2', 7146), ('sr1_walk_3', 4451)):
        motion = load_motion(shared_file('motion', name, '.npz'))
        assert motion.q.shape == (frames, 29)
        assert motion.frame_rate == 500.0
        assert np.abs(np.diff(motion.q, axis=0)).max() < 0.005


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('a.seq', 'content: ZMP\nframes: [[1]]', 'no component of content JointDisplacement'),
        ('b.seq', '[1, 2', 'is not YAML'),
        ('c.seq', 'content: JointDisplacement\nframeRate: 1\nframes: [[1], [1, 2]]', 'frames'),
        ('d.npz', 'PK', 'not a compact joint motion'),
        ('d.npz', '', 'not a compact joint motion'),
        ('d.npz', 'PK\x03\x04 cut off', 'not a compact joint motion'),
        ('f.seq', 'components: 3', 'no component of content JointDisplacement'),
        (
            'g.seq',
            'content: JointPosition\nhasFrameTime: true\nframeRate: 1\nframes: []',
            'frames of shape',
        ),
        ('e.seq', None, 'No such file'),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    """A file that cannot be used is named with what is wrong with it."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(MotionError, match=message) as caught:
        load_motion(path)
    assert str(path) in str(caught.value)
