"""Files of pictures and films: PNG, GIF and MP4."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices

PICTURES = ('.png', '.jpg', '.jpeg')
FILMS = ('.gif', '.mp4')
# Colours of a GIF.
COLORS = 128
# Quality of MP4 films as x264 counts it: less is better, 18 looks like the original.
RATE_FACTOR = 20


def find_encoder() -> str:
    """Program that encodes MP4: ffmpeg on the PATH, or the one of imageio-ffmpeg.

    Raises:
        CnoidControlError: there is none.
    """
    found = shutil.which('ffmpeg')
    if found:
        return found
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise CnoidControlError(
            'nothing here encodes .mp4: install ffmpeg, or pip install imageio-ffmpeg; '
            '.gif needs neither'
        ) from error


class FilmFile(Protocol):
    """A file that takes one picture after the other."""

    def add(self, picture: np.ndarray) -> None:
        """Append a picture, uint8, shape (h, w, 3)."""

    def close(self) -> None:
        """Finish the file."""


def open_film(path: Path, rate: float) -> FilmFile:
    """File for pictures at a rate [Hz]; the last one alone where it is a picture.

    Raises:
        CnoidControlError: its kind is unknown, or nothing here encodes it.
    """
    suffix = path.suffix.lower()
    if suffix not in PICTURES + FILMS:
        raise CnoidControlError(f'{path}: is no picture or film; {choices(PICTURES + FILMS)}')
    if suffix == '.mp4':
        return Mp4File(path, rate)
    return GifFile(path, rate) if suffix == '.gif' else PictureFile(path)


class PictureFile:
    """One picture."""

    def __init__(self, path: Path) -> None:
        """Write to a file."""
        self._path = path

    def add(self, picture: np.ndarray) -> None:
        """Write the picture."""
        from PIL import Image

        Image.fromarray(picture).save(self._path, optimize=True)

    def close(self) -> None:
        """The file is there."""


class GifFile:
    """A GIF whose pictures share the colours of the first one."""

    def __init__(self, path: Path, rate: float) -> None:
        """Write to a file.

        Args:
            path: the file.
            rate: pictures per second; GIF counts time in hundredths of a second.
        """
        self._path = path
        self._duration = max(20, 10 * round(100.0 / rate))
        self._pictures: list[Any] = []

    def add(self, picture: np.ndarray) -> None:
        """Append a picture."""
        from PIL import Image

        image = Image.fromarray(picture)
        if not self._pictures:
            self._pictures.append(image.quantize(COLORS, dither=Image.Dither.NONE))
            return
        first = self._pictures[0]
        self._pictures.append(image.quantize(palette=first, dither=Image.Dither.NONE))

    def close(self) -> None:
        """Write the file."""
        self._pictures[0].save(
            self._path,
            save_all=True,
            append_images=self._pictures[1:],
            duration=self._duration,
            loop=0,
            optimize=True,
        )


class Mp4File:
    """An H.264 film, written by ffmpeg in a process of its own."""

    def __init__(self, path: Path, rate: float) -> None:
        """Write to a file.

        Args:
            path: the file; it is there when the film is finished.
            rate: pictures per second.

        Raises:
            CnoidControlError: nothing here encodes it.
        """
        self._encoder = find_encoder()
        self._path, self._rate = path, rate
        self._process: subprocess.Popen[bytes] | None = None
        self._told = tempfile.TemporaryFile()  # noqa: SIM115
        self._part = path.with_name(f'.{path.stem}.{os.getpid()}.mp4')

    def _start(self, picture: np.ndarray) -> subprocess.Popen[bytes]:
        height, width = picture.shape[:2]
        source = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', f'{width}x{height}']
        # Players want even sizes, and colours at half the resolution.
        target = ['-vf', 'pad=ceil(iw/2)*2:ceil(ih/2)*2', '-pix_fmt', 'yuv420p']
        target += ['-c:v', 'libx264', '-crf', str(RATE_FACTOR), '-movflags', '+faststart']
        words = [self._encoder, '-y', '-loglevel', 'error', *source, '-r', f'{self._rate:g}']
        return subprocess.Popen(
            [*words, '-i', '-', '-an', *target, str(self._part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._told,
        )

    def add(self, picture: np.ndarray) -> None:
        """Append a picture.

        Raises:
            CnoidControlError: the encoder has given up.
        """
        if self._process is None:
            self._process = self._start(picture)
        assert self._process.stdin is not None  # mypy.
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).tobytes())
        except BrokenPipeError:
            self._finish()

    def close(self) -> None:
        """Finish the film.

        Raises:
            CnoidControlError: the encoder failed.
        """
        if self._process is not None:
            self._finish()

    def _finish(self) -> None:
        assert self._process is not None  # mypy.
        _, _ = self._process.communicate()
        status = self._process.returncode
        self._process = None
        if status:
            self._told.seek(0)
            text = self._told.read().decode(errors='replace').strip()
            self._part.unlink(missing_ok=True)
            raise CnoidControlError(f'{self._path}: the encoder failed: {text or status}')
        self._part.replace(self._path)
