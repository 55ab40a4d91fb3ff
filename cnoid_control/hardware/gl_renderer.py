"""Pictures by MuJoCo's own renderer, without a display."""

from __future__ import annotations

import ctypes.util
import importlib
import os
from typing import Any

import mujoco
import numpy as np

from cnoid_control.hardware.exceptions import RenderingUnavailable

# Libraries that draw without a display, with MuJoCo's module for each; tried in this order.
PLATFORMS = {'egl': ('EGL', 'mujoco.egl'), 'osmesa': ('OSMesa', 'mujoco.osmesa')}
MAX_GEOMS = 10000


class GlRenderer:
    """Draws what a camera of the model sees, in colour.

    All calls must come from one thread.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        """Open a graphics context for pictures up to this size [pixels].

        Raises:
            RenderingUnavailable: this machine has no library to draw with.
        """
        self._model = model
        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        self._gl = _open_context(width, height)
        self._gl.make_current()
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        except mujoco.FatalError as error:
            self._gl.free()
            raise RenderingUnavailable(str(error)) from error
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        for effect in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[effect] = False
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0

    def render(
        self,
        data: mujoco.MjData,
        camera: int,
        size: tuple[int, int],
        near: float,
        far: float,
    ) -> np.ndarray:
        """Draw what a camera sees now.

        Args:
            data: state of the world.
            camera: index of the camera.
            size: width and height [pixels].
            near: distance of the nearest thing that is seen [m].
            far: distance of the farthest thing that is seen [m].

        Returns:
            Rows from the top, shape (height, width, 3), uint8.
        """
        model = self._model
        self._gl.make_current()
        model.vis.map.znear = near / model.stat.extent
        model.vis.map.zfar = far / model.stat.extent
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = camera
        mujoco.mjv_updateScene(
            model,
            data,
            self._option,
            None,
            view,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        width, height = size
        viewport = mujoco.MjrRect(0, 0, width, height)
        picture = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_render(viewport, self._scene, self._context)
        mujoco.mjr_readPixels(picture, None, viewport, self._context)
        return picture[::-1].copy()

    def close(self) -> None:
        """Free the graphics context."""
        self._gl.make_current()
        self._context.free()
        self._gl.free()


def _open_context(width: int, height: int) -> Any:
    """Graphics context of the first platform that works here."""
    chosen = os.environ.get('MUJOCO_GL', '').lower() or os.environ.get('PYOPENGL_PLATFORM', '')
    reasons = []
    for platform, (library, module) in PLATFORMS.items():
        if chosen in PLATFORMS and platform != chosen:
            continue
        if ctypes.util.find_library(library) is None:
            reasons.append(f'no lib{library}')
            continue
        try:
            return importlib.import_module(module).GLContext(width, height)
        # Whatever the driver raises, another platform may still work.
        except Exception as error:
            reasons.append(f'{platform}: {error}')
    raise RenderingUnavailable('; '.join(reasons))
