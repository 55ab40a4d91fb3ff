"""The simulated truth, in the place of an estimate."""

from __future__ import annotations

from cnoid_control.body import StateFlag
from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.plugin import ControllerIO


class TrueStateEstimator(BaseController):
    """Puts out the joints' state and the root's pose and motion as the hardware has them.

    Only a simulation has these of a floating root; there it is what estimators are held against.
    """

    def attach(self, io: ControllerIO) -> None:
        """Read joints and root."""
        self._io = io
        for joint in io.body.joints:
            if joint.name:
                io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        io.enable_input(io.body.root_link, StateFlag.LINK_POSITION | StateFlag.LINK_TWIST)

    def output(self, **inputs: object) -> Message:
        """The state."""
        body, root = self._io.body, self._io.body.root_link
        return {
            'q': body.q.copy(),
            'dq': body.dq.copy(),
            'root_p': root.p.copy(),
            'root_R': root.R.copy(),
            'root_v': root.v.copy(),
            'root_w': root.w.copy(),
        }
