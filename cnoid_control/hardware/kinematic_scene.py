"""What an ideal robot's sensors feel and see: MuJoCo asked backwards, from motion to forces."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.hardware.kinematic import KinematicParameters
from cnoid_control.hardware.mujoco.model import build_model
from cnoid_control.hardware.mujoco.parameters import MujocoParameters, SceneParameters
from cnoid_control.hardware.mujoco.renderer import CameraRenderer, Lights
from cnoid_control.hardware.mujoco.sensors import MotionSensors, VisionSensors

# Nothing pushes an ideal robot: neither the floor nor the ends of its joints.
NO_FORCES = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION


class KinematicScene:
    """The robot's devices, and the efforts that its motion would take.

    Forces are those of the robot's own weight and inertia: it is held at its root, and touches
    nothing.
    """

    def __init__(self, body: Body, parameters: KinematicParameters, period: float) -> None:
        """Build the scene; the motion of the body is taken over by `measure`.

        Raises:
            HardwareError: MuJoCo refuses the robot.
        """
        shared = {field.name: getattr(parameters, field.name) for field in fields(SceneParameters)}
        self._body = body
        # The root can be put anywhere, so it is free here even where the robot is bolted down.
        self._mapping = build_model(body, MujocoParameters(**shared), period, free_root=True)
        model = self._mapping.model
        model.opt.disableflags |= int(NO_FORCES)
        self._model, self._data = model, mujoco.MjData(model)
        self._sensors = MotionSensors(self._mapping, self._data, body, parameters, period)
        lights = Lights(self._mapping, self._data, body)
        self._maker = CameraRenderer(self._mapping, self._data, lights, parameters)
        self._vision = VisionSensors(body, self._maker, parameters.seed)

    def open(self, names: Collection[str], time: float) -> None:
        """Measure these devices from now on."""
        self._sensors.open(names)
        self._vision.open(names, time)

    def measure(self) -> None:
        """Take the body's motion over, and let the sensors that feel feel it."""
        data, mapping, body = self._data, self._mapping, self._body
        arrays, slots = body.joint_arrays, mapping.slots
        root = body.root_link
        data.qpos[mapping.root_qpos] = body.root_q[[0, 1, 2, 6, 3, 4, 5]]
        data.qvel[:3], data.qvel[3:6] = root.v, root.R.T @ root.w
        data.qacc[:3], data.qacc[3:6] = root.dv, root.R.T @ root.dw
        mapping.put_free_links(data)
        data.qpos[mapping.qpos] = arrays['q'][slots]
        data.qvel[mapping.dofs] = arrays['dq'][slots]
        data.qacc[mapping.dofs] = arrays['ddq'][slots]
        mujoco.mj_inverse(self._model, data)
        self._sensors.take()

    def efforts(self) -> np.ndarray:
        """Efforts of the joints with a slot that the motion takes [N m] or [N], by slot."""
        return self._data.qfrc_inverse[self._mapping.dofs]

    @property
    def slots(self) -> np.ndarray:
        """Slots of the joints that `efforts` tells of."""
        return self._mapping.slots

    def look(self, time: float) -> None:
        """Let the sensors that see look at the motion taken over last."""
        self._vision.take(time)

    def close(self) -> None:
        """Free what draws pictures."""
        self._maker.close()
