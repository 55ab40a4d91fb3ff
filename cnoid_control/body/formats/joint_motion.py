"""Recorded joint motions: Choreonoid's .seq files, and a compact form of the same."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cnoid_control.body.exceptions import MotionError

# Unit of the stored displacements [rad] or [m]; below what the .seq files resolve.
RESOLUTION = 1e-7

JOINT_CONTENTS = ('JointDisplacement', 'JointPosition')


@dataclass(frozen=True)
class JointMotion:
    """Joint displacements at a fixed rate.

    Attributes:
        q: displacements [rad] or [m] in joint-id order, shape (frames, joints).
        frame_rate: frames per second [Hz].
    """

    q: np.ndarray
    frame_rate: float

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.q)

    @property
    def num_joints(self) -> int:
        """Number of joints."""
        return self.q.shape[1]

    @property
    def duration(self) -> float:
        """Time from the first frame to the last [s]."""
        return (self.num_frames - 1) / self.frame_rate

    def resampled(self, time_step: float) -> np.ndarray:
        """Displacements every `time_step` [s], between frames by a straight line.

        The first and the last frame are included, shape (samples, joints).
        """
        samples = round(self.duration / time_step) + 1
        place = np.minimum(np.arange(samples) * time_step * self.frame_rate, self.num_frames - 1)
        # Rounding must not move a sample off the frame that it falls on.
        nearest = np.rint(place)
        place = np.where(np.abs(place - nearest) < 1e-9 * max(1, samples), nearest, place)
        frame = np.minimum(place.astype(int), max(self.num_frames - 2, 0))
        share = (place - frame)[:, None]
        following = self.q[np.minimum(frame + 1, self.num_frames - 1)]
        return self.q[frame] * (1.0 - share) + following * share

    def save(self, path: str | Path) -> None:
        """Write the compact form, a .npz of second differences, exact to 0.05 microradians."""
        ticks = np.rint(self.q / RESOLUTION).astype(np.int64)
        start = np.repeat(ticks[:1], 2, axis=0)
        differences = np.diff(np.vstack([start, ticks]), n=2, axis=0).astype(np.int32)
        np.savez_compressed(
            path,
            first=ticks[0],
            second_differences=np.ascontiguousarray(differences.T),
            resolution=RESOLUTION,
            frame_rate=self.frame_rate,
        )


def load_motion(path: str | Path) -> JointMotion:
    """Motion from a Choreonoid .seq file or from the compact .npz form.

    Raises:
        MotionError: the file is missing or holds no joint motion.
    """
    path = Path(path)
    if path.suffix == '.npz':
        return _load_compact(path)
    try:
        content = yaml.load(path.read_text(encoding='utf-8'), Loader=_fastest_loader())
    except OSError as error:
        raise MotionError(str(path), error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise MotionError(str(path), f'is not YAML: {error}') from error
    return _parse_sequence(content, str(path))


def _load_compact(path: Path) -> JointMotion:
    try:
        with np.load(path, allow_pickle=False) as stored:
            differences = stored['second_differences'].T.astype(np.int64)
            ticks = stored['first'] + np.cumsum(np.cumsum(differences, axis=0), axis=0)
            return JointMotion(
                ticks * float(stored['resolution']), frame_rate=float(stored['frame_rate'])
            )
    except OSError as error:
        raise MotionError(str(path), error.strerror or str(error)) from error
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise MotionError(str(path), f'is not a compact joint motion: {error}') from error


def _fastest_loader() -> Any:
    # The C parser is ten times faster but not in every build of PyYAML.
    return getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


def _parse_sequence(content: Any, source: str) -> JointMotion:
    components = content.get('components') if isinstance(content, dict) else None
    for component in components if isinstance(components, list) else [content]:
        if isinstance(component, dict) and (
            component.get('content') in JOINT_CONTENTS
            or component.get('purpose') in JOINT_CONTENTS
        ):
            break
    else:
        raise MotionError(source, f'has no component of content {" or ".join(JOINT_CONTENTS)}')
    rate = _value(component, 'frame_rate', 'frameRate') or _value(
        content, 'frame_rate', 'frameRate'
    )
    try:
        q = np.array(component['frames'], dtype=float)
        frame_rate = float(rate)
    except (KeyError, TypeError, ValueError) as error:
        raise MotionError(source, f'has frames or a rate that cannot be used: {error}') from error
    timed = _value(component, 'has_frame_time', 'hasFrameTime') or _value(
        content, 'has_frame_time', 'hasFrameTime'
    )
    if timed and q.ndim == 2:
        q = q[:, 1:]
    if q.ndim != 2 or not q.size or not np.all(np.isfinite(q)) or not frame_rate > 0.0:
        raise MotionError(source, f'has frames of shape {q.shape} at {frame_rate} Hz')
    return JointMotion(q, frame_rate)


def _value(mapping: dict[str, Any], *names: str) -> Any:
    """Value of the first of these keys that is there."""
    return next((mapping[name] for name in names if name in mapping), None)
