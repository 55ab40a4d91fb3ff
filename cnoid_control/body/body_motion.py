"""The state of a body in arrays, and the kinematics that pinocchio computes from it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.body.exceptions import WrongArraySize
from cnoid_control.body.kinematic_tree import ROOT_NQ, ROOT_NV, KinematicTree
from cnoid_control.exceptions import choices

# Looked up once: the look-ups would add a tenth to the cost of the calls.
forward_kinematics = pin.forwardKinematics
center_of_mass = pin.centerOfMass

WORLD_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

STATE_ARRAYS = ('q', 'dq', 'ddq', 'u', 'q_target', 'dq_target')
GAIN_ARRAYS = ('kp', 'ki', 'kd')
# Rows of `joint_block`, commands that go together next to each other.
BLOCK_ARRAYS = ('ddq', 'u', 'q_target', 'dq_target', *GAIN_ARRAYS)
LIMIT_ARRAYS = ('q_lower', 'q_upper', 'dq_lower', 'dq_upper', 'u_lower', 'u_upper')

MOMENTUM_POINTS = ('world', 'root', 'com')


def _joint_array(name: str) -> Any:
    """Property that gives one of the joint arrays and, when set, takes the values over.

    Links, hardware and loop look at the arrays, so `body.u = gains * error` must not put another
    array in their stead.
    """

    def put(body: BodyMotion, value: object) -> None:
        array = body.joint_arrays[name][: body.tree.num_joints]
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise WrongArraySize(name, array.shape, value) from error
        if value is None or numbers.shape not in ((), array.shape):
            raise WrongArraySize(name, array.shape, value)
        array[:] = numbers

    # attrgetter is quicker than a function: controllers read these in every step.
    return property(attrgetter(f'_{name}'), put)


def cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cross product of two vectors of 3, in a tenth of the time that numpy's general one takes."""
    a, b, c = one.tolist()
    x, y, z = other.tolist()
    return np.array((b * z - c * y, c * x - a * z, a * y - b * x))


class BodyMotion:
    """The half of a body that moves: joint arrays, root, and where its links are.

    Attributes:
        tree: links and pinocchio model, shared by clones.
        model, data: pinocchio's model and the results of its last call.
        joint_arrays, configuration, root_q, root_motion, external_wrenches, q, ...: see `Body`.
    """

    q: np.ndarray = _joint_array('q')
    dq: np.ndarray = _joint_array('dq')
    ddq: np.ndarray = _joint_array('ddq')
    u: np.ndarray = _joint_array('u')
    q_target: np.ndarray = _joint_array('q_target')
    dq_target: np.ndarray = _joint_array('dq_target')
    kp: np.ndarray = _joint_array('kp')
    ki: np.ndarray = _joint_array('ki')
    kd: np.ndarray = _joint_array('kd')
    q_lower: np.ndarray = _joint_array('q_lower')
    q_upper: np.ndarray = _joint_array('q_upper')
    dq_lower: np.ndarray = _joint_array('dq_lower')
    dq_upper: np.ndarray = _joint_array('dq_upper')
    u_lower: np.ndarray = _joint_array('u_lower')
    u_upper: np.ndarray = _joint_array('u_upper')

    def __init__(self, tree: KinematicTree) -> None:
        """Start at zero: the body puts itself into its initial posture."""
        self.tree = tree
        self.model = tree.model
        self.data = self.model.createData()
        self._com = np.zeros(3)
        self._make_arrays()

    def _make_arrays(self) -> None:
        tree = self.tree
        # [root configuration, q, root velocity (root axes), dq] lie in one array, so that a single
        # indexing turns all of them into pinocchio's order.
        self._packed = np.zeros(ROOT_NQ + ROOT_NV + 2 * tree.num_slots)
        positions, velocities = np.split(self._packed, [ROOT_NQ + tree.num_slots])
        self.configuration = positions
        self.root_q = positions[:ROOT_NQ]
        self.root_q[-1] = 1.0
        self._root_v = velocities[:ROOT_NV].reshape(2, 3)
        self.joint_arrays: dict[str, np.ndarray] = {
            'q': positions[ROOT_NQ:],
            'dq': velocities[ROOT_NV:],
        }
        # The commands lie side by side, so that those of all joints are copied in one piece.
        self.joint_block = np.zeros((len(BLOCK_ARRAYS), tree.num_slots))
        self.joint_arrays |= zip(BLOCK_ARRAYS, self.joint_block, strict=True)
        for name in LIMIT_ARRAYS:
            unlimited = -np.inf if name.endswith('lower') else np.inf
            self.joint_arrays[name] = np.full(tree.num_slots, unlimited)
            for link, slot in zip(tree.links, tree.joint_slots, strict=True):
                if slot >= 0:
                    self.joint_arrays[name][slot] = getattr(link, name)
        for name, array in self.joint_arrays.items():
            setattr(self, f'_{name}', array[: tree.num_joints])
        self._pin_state = np.zeros(self.model.nq + self.model.nv)
        self._pin_q, self._pin_v = np.split(self._pin_state, [self.model.nq])
        self._pin_a = np.zeros(self.model.nv)
        # Bound once: looking these up would cost as much as using them.
        self._pack: Callable[..., Any] = self._packed.take
        self._pack_arguments = (tree.packed_in_pin_order, None, self._pin_state, 'clip')
        self._position_arguments = (self.model, self.data, self._pin_q)
        self._velocity_arguments = (self.model, self.data, self._pin_q, self._pin_v)
        self._com_arguments = (self.model, self.data, pin.POSITION, False)
        self._has_mimics = tree.mimic_slots.size > 0
        self._root_R = np.eye(3)
        self.root_motion = np.zeros((2, 3))
        self._turn_root_motion = self.root_motion.dot
        self._root_acceleration = np.zeros((2, 3))
        self.external_wrenches = np.zeros((len(tree.links), 6))
        # World values set by hand on links other than the root; the next kinematics drops them.
        self._overrides: dict[tuple[int, str], np.ndarray] = {}

    def pin_q(self) -> np.ndarray:
        """Pinocchio's configuration vector [root position, quaternion x y z w, joints], current.

        The vector is the body's own and changes with it; copy it to keep it.
        """
        self._update_pin_state()
        return self._pin_q

    def pin_v(self) -> np.ndarray:
        """Pinocchio's velocity vector [root linear, root angular (root axes), joints], current."""
        self._update_pin_state()
        return self._pin_v

    def pin_a(self) -> np.ndarray:
        """Pinocchio's acceleration vector (spatial, root axes, then joints), current."""
        return self.pin_acceleration(self._root_acceleration[0])

    def pin_acceleration(self, root_dv: np.ndarray) -> np.ndarray:
        """As `pin_a`, with another acceleration of the root's origin [m/s^2], world axes."""
        ddq = self.joint_arrays['ddq']
        tree = self.tree
        if self._has_mimics:
            ddq[tree.mimic_slots] = tree.mimic_multipliers * ddq[tree.mimicked_slots]
        ddq.take(tree.slots_in_pin_order, None, self._pin_a[ROOT_NV:], 'clip')
        v, w = self.root_motion
        self._pin_a[:3] = (root_dv - cross(w, v)) @ self._root_R
        self._pin_a[3:6] = self._root_acceleration[1] @ self._root_R
        return self._pin_a

    def _update_pin_state(self) -> None:
        if self._has_mimics:
            self._move_mimics()
        self._turn_root_motion(self._root_R, self._root_v)
        self._pack(*self._pack_arguments)

    def _move_mimics(self) -> None:
        q, dq = self.joint_arrays['q'], self.joint_arrays['dq']
        tree = self.tree
        q[tree.mimic_slots] = tree.mimic_multipliers * q[tree.mimicked_slots] + tree.mimic_offsets
        dq[tree.mimic_slots] = tree.mimic_multipliers * dq[tree.mimicked_slots]

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Find where all links are (and how they move) from the root and the joints.

        Args:
            velocity: find v and w too, from the root's v and w and dq.
            acceleration: find v, w, dv and dw too, from the root's dv and dw and ddq as well.
        """
        if self._overrides:
            self._overrides.clear()
        if self._has_mimics:
            self._move_mimics()
        self._turn_root_motion(self._root_R, self._root_v)
        self._pack(*self._pack_arguments)
        if acceleration:
            forward_kinematics(*self._velocity_arguments, self.pin_a())
        elif velocity:
            forward_kinematics(*self._velocity_arguments)
        else:
            forward_kinematics(*self._position_arguments)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return self.tree.mass

    def calc_center_of_mass(self) -> np.ndarray:
        """Centre of mass in the world [m], shape (3,), at the last forward kinematics."""
        self._com = center_of_mass(*self._com_arguments)
        return self._com

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass that `calc_center_of_mass` found last [m], shape (3,)."""
        return self._com

    def calc_total_momentum(self, about: str = 'world') -> tuple[np.ndarray, np.ndarray]:
        """Momentum of the whole body at the last forward kinematics with velocity.

        Args:
            about: point that the angular momentum is about: 'world' for the world origin, as
                Choreonoid does, 'root' for the origin of the root link, 'com' for the centre of
                mass.

        Returns:
            Momentum [kg m/s] and angular momentum [kg m^2/s], world axes, shape (3,) each.

        Raises:
            ValueError: `about` is none of these.
        """
        if about not in MOMENTUM_POINTS:
            raise ValueError(f'about is {about!r}; {choices(MOMENTUM_POINTS)}')
        momentum = pin.computeCentroidalMomentum(self.model, self.data)
        linear, angular = momentum.linear.copy(), momentum.angular.copy()
        if about == 'com':
            return linear, angular
        arm = self.data.com[0] - (self.root_q[:3] if about == 'root' else 0.0)
        return linear, angular + cross(arm, linear)

    # --- what links ask for -------------------------------------------------------------------

    def link_placement(self, index: int) -> pin.SE3:
        """Pose of a link in the world at the last forward kinematics."""
        placement = self.tree.placements[index]
        carrier = self.data.oMi[self.tree.pin_joints[index]]
        return carrier if placement is None else carrier * placement

    def link_position(self, index: int) -> np.ndarray:
        """Origin of a link in the world [m]; a writable view for the root."""
        if index == 0:
            return self.root_q[:3]
        if (index, 'p') in self._overrides:
            return self._overrides[index, 'p']
        return self.link_placement(index).translation.copy()

    def link_rotation(self, index: int) -> np.ndarray:
        """Axes of a link in the world, read only."""
        if index == 0:
            rotation = self._root_R.view()
        elif (index, 'R') in self._overrides:
            rotation = self._overrides[index, 'R'].view()
        else:
            rotation = self.link_placement(index).rotation.copy()
        rotation.flags.writeable = False
        return rotation

    def link_motion(self, index: int, name: str) -> np.ndarray:
        """v, w, dv or dw of a link, world axes; a writable view for the root."""
        row = 0 if name.endswith('v') else 1
        rate = name.startswith('d')
        if index == 0:
            return self._root_acceleration[row] if rate else self.root_motion[row]
        if (index, name) in self._overrides:
            return self._overrides[index, name]
        joint = self.tree.pin_joints[index]
        placement = self.tree.placements[index] or pin.SE3.Identity()
        get = pin.getFrameClassicalAcceleration if rate else pin.getFrameVelocity
        motion = get(self.model, self.data, joint, placement, WORLD_ALIGNED)
        return motion.angular if row else motion.linear

    def set_root_axes(self, R: np.ndarray) -> None:
        """Take the root's axes from an array of a simulator, which may change it later.

        For simulators, which write `root_q` themselves; everybody else sets `root_link.R`.
        """
        self._root_R = R

    def set_link_value(self, index: int, name: str, value: np.ndarray) -> None:
        """Set p, R, v, w, dv or dw of a link; but for the root, until the next kinematics."""
        array = np.array(value, dtype=float)
        expected = (3, 3) if name == 'R' else (3,)
        if array.shape != expected:
            raise ValueError(
                f'{self.tree.links[index].name}.{name} needs shape {expected}, got {array.shape}'
            )
        if index != 0:
            self._overrides[index, name] = array
        elif name == 'R':
            self._root_R = array
            self.root_q[3:] = pin.Quaternion(array).coeffs()
        elif name == 'p':
            self.root_q[:3] = array
        else:
            self.link_motion(0, name)[:] = array
