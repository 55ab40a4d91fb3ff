from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control.body import Body, Device, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, LinkDescription, Shape, Sphere
from cnoid_control.body.devices import (
    Camera,
    ImageType,
    LensType,
    OpticalFrame,
    PointLight,
    RangeCamera,
    RangeSensor,
    SpotLight,
)
from cnoid_control.hardware.exceptions import RenderingUnavailable
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import ObjectParameters

Simulate = Callable[..., MujocoHardware]

# Axes of a GL camera that looks along the world's x: right is -y, up is z, back is -x.
AHEAD = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def ahead(device: Device, frame: OpticalFrame = OpticalFrame.GL) -> Device:
    """Turn a device so that it looks along x, 1 m above the floor."""
    axes = {
        OpticalFrame.GL: AHEAD,
        OpticalFrame.CV: AHEAD @ np.diag([1.0, -1.0, -1.0]),
        OpticalFrame.ROBOTICS: np.eye(3),
    }[frame]
    device.R_local[:] = axes
    return device


def make_eye(*devices: Device) -> Body:
    """Small ball 1 m above the floor that carries the devices inside itself."""
    link = LinkDescription(
        'eye',
        joint_type=JointType.FIXED,
        translation=np.array([0.0, 0.0, 1.0]),
        shapes=[Shape(Sphere(0.02))],
    )
    return Body(BodyDescription('eye', [link], devices=[('eye', device) for device in devices]))


def wall(distance: float, color: tuple[float, ...] = (1.0, 0.0, 0.0, 1.0)) -> ObjectParameters:
    """Large wall whose surface is that far ahead."""
    return ObjectParameters(
        size=[0.2, 20.0, 20.0], position=[distance + 0.1, 0.0, 1.0], color=list(color)
    )


def look(body: Body, simulate: Simulate, ticks: int = 1, **options: object) -> MujocoHardware:
    """Open the eye, by rays unless told otherwise, and take some ticks of 10 ms."""
    request = make_request(body, {})
    request.devices = {device.name for device in body.devices}
    options.setdefault('camera_renderer', 'rays')
    hardware = simulate(body, request, 0.01, **options)
    for _ in range(ticks):
        hardware.read()
        hardware.write()
    return hardware


def test_range_sensor_measures_a_wall(simulate: Simulate) -> None:
    """Distances grow with 1 / cos of yaw and pitch, the own housing is not seen."""
    body = make_eye(
        ahead(RangeSensor('laser', yaw_range=1.0, yaw_step=0.1, pitch_range=0.4, pitch_step=0.2))
    )
    laser = body.devices_of(RangeSensor)[0]
    assert laser.range_data.size == 0
    look(body, simulate, floor=False, objects={'wall': wall(2.0)})
    pitch, yaw = np.meshgrid(laser.pitch_angles, laser.yaw_angles, indexing='ij')
    expected = 2.0 / np.cos(yaw) / np.cos(pitch)
    np.testing.assert_allclose(laser.range_data, expected.ravel(), rtol=1e-9)


def test_range_sensor_turns_left_and_up(simulate: Simulate) -> None:
    """Yaw is positive to the left, pitch upwards; where nothing is, the distance is infinite."""
    body = make_eye(
        ahead(RangeSensor('laser', yaw_range=1.0, yaw_step=0.5, pitch_range=1.0, pitch_step=0.5))
    )
    laser = body.devices_of(RangeSensor)[0]
    away = np.array([math.cos(0.5) * math.cos(0.5), math.sin(0.5) * math.cos(0.5), math.sin(0.5)])
    ball = ObjectParameters(
        shape='sphere', size=[0.1], position=(np.array([0.0, 0.0, 1.0]) + 3.0 * away).tolist()
    )
    look(body, simulate, floor=False, objects={'ball': ball})
    distances = laser.range_data.reshape(3, 3)
    assert distances[2, 2] == pytest.approx(2.9)
    distances[2, 2] = np.inf
    assert np.isinf(distances).all()


def test_range_limits_and_errors(simulate: Simulate) -> None:
    """Too far is infinite; detection rate and error are as told, and repeat."""
    far = ahead(RangeSensor('far', max_distance=1.5))
    bad = ahead(RangeSensor('bad', yaw_step=0.001, detection_rate=0.7, error_deviation=0.05, id=3))
    scans = []
    for _ in range(2):
        body = make_eye(far, bad)
        look(body, simulate, floor=False, objects={'wall': wall(2.0)})
        distant, faulty = body.devices_of(RangeSensor)
        assert np.isinf(distant.range_data).all()
        scans.append(faulty.range_data)
    np.testing.assert_array_equal(scans[0], scans[1])
    found = np.isfinite(scans[0])
    assert found.mean() == pytest.approx(0.7, abs=0.05)
    errors = (scans[0] - 2.0 / np.cos(faulty.yaw_angles))[found]
    assert errors.std() == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize('frame', list(OpticalFrame))
def test_range_camera_gives_points_in_its_own_axes(
    frame: OpticalFrame, simulate: Simulate
) -> None:
    """Every pixel of a wall lies in its plane, in the axes that the optical frame says."""
    camera = ahead(
        RangeCamera('depth', organized=True, width=16, height=8, optical_frame=frame), frame
    )
    body = make_eye(camera)
    found = body.devices_of(RangeCamera)[0]
    look(body, simulate, floor=False, objects={'wall': wall(2.0)})
    world = found.points @ found.R_local.T + np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(world[:, 0], 2.0, atol=1e-5)
    rows = world.reshape(8, 16, 3)
    # From the top left: y falls along a row, z from row to row.
    assert (np.diff(rows[:, :, 1], axis=1) < 0).all()
    assert (np.diff(rows[:, :, 2], axis=0) < 0).all()
    height = 2.0 * math.tan(found.vertical_field_of_view / 2.0) * 7 / 8
    assert rows[0, 0, 2] - 1.0 == pytest.approx(height, rel=1e-5)
    assert found.image.shape == (8, 16, 3)


def test_unorganized_points_leave_out_what_was_not_seen(simulate: Simulate) -> None:
    """A small ball gives a few points near it, organized or not."""
    ball = ObjectParameters(shape='sphere', size=[0.2], position=[2.0, 0.0, 1.0])
    options = {'width': 40, 'height': 30, 'image_type': ImageType.NONE}
    body = make_eye(
        ahead(RangeCamera('all', organized=True, **options)),
        ahead(RangeCamera('some', **options)),
    )
    look(body, simulate, floor=False, objects={'ball': ball})
    everything, some = body.devices_of(RangeCamera)
    assert everything.points.shape == (1200, 3)
    seen = np.isfinite(everything.points).all(axis=1)
    assert 0 < seen.sum() < 600
    np.testing.assert_array_equal(everything.points[seen], some.points)
    assert some.image.size == 0
    assert (some.points[:, 2] < -1.79).all()


def colored_objects() -> dict[str, ObjectParameters]:
    """Wall with a red ball on the left, a green one on the right and a blue one on top."""
    return {
        'wall': wall(3.0, (0.5, 0.5, 0.5, 1.0)),
        'left': ObjectParameters('sphere', [0.2], [2.0, 0.5, 1.0], color=[1.0, 0.0, 0.0, 1.0]),
        'right': ObjectParameters('sphere', [0.2], [2.0, -0.5, 1.0], color=[0.0, 1.0, 0.0, 1.0]),
        'top': ObjectParameters('sphere', [0.2], [2.0, 0.0, 1.5], color=[0.0, 0.0, 1.0, 1.0]),
    }


def middle_of(mask: np.ndarray) -> tuple[float, float]:
    """Mean column and row of the pixels chosen."""
    rows, columns = np.nonzero(mask)
    return float(columns.mean()), float(rows.mean())


@pytest.mark.parametrize('renderer', ['rays', 'gl'])
def test_camera_shows_things_where_they_are(renderer: str, simulate: Simulate) -> None:
    """Left is left, top is top, in the colours of the things."""
    body = make_eye(ahead(Camera('camera', width=64, height=48)))
    camera = body.devices_of(Camera)[0]
    assert camera.image.size == 0
    try:
        hardware = look(body, simulate, camera_renderer=renderer, objects=colored_objects())
    except RenderingUnavailable as error:
        pytest.skip(str(error))
    hardware.close()
    image = camera.image.astype(int)
    assert image.shape == (48, 64, 3)
    places = {}
    for channel, name in enumerate(('left', 'right', 'top')):
        others = [other for other in range(3) if other != channel]
        strong = image[:, :, channel] > 40 + image[:, :, others].max(axis=2)
        assert strong.sum() > 10, name
        places[name] = middle_of(strong)
    focal = 24.0 / math.tan(camera.vertical_field_of_view / 2.0)
    assert places['left'] == pytest.approx((31.5 - focal * 0.25, 23.5), abs=1.5)
    assert places['right'] == pytest.approx((31.5 + focal * 0.25, 23.5), abs=1.5)
    assert places['top'] == pytest.approx((31.5, 23.5 - focal * 0.25), abs=1.5)


def test_renderers_agree(simulate: Simulate) -> None:
    """A picture by rays and one by the graphics library show about the same."""
    pictures = []
    for renderer in ('rays', 'gl'):
        body = make_eye(ahead(Camera('camera', width=64, height=48)))
        try:
            hardware = look(
                body, simulate, camera_renderer=renderer, floor=False, objects=colored_objects()
            )
        except RenderingUnavailable as error:
            pytest.skip(str(error))
        hardware.close()
        pictures.append(body.devices_of(Camera)[0].image.astype(int))
    difference = np.abs(pictures[0] - pictures[1])
    assert np.median(difference) <= 12
    assert (difference.max(axis=2) > 60).mean() < 0.05


def test_automatic_renderer_always_works(simulate: Simulate) -> None:
    """By default there is a picture, whether or not there is a graphics library."""
    body = make_eye(ahead(Camera('camera', width=32, height=24)))
    look(body, simulate, camera_renderer='auto', objects=colored_objects()).close()
    assert body.devices_of(Camera)[0].image.std() > 5.0


def test_grayscale_weighs_the_colors(simulate: Simulate) -> None:
    """A grey picture has one value a pixel, the luma of the coloured one."""
    body = make_eye(
        ahead(Camera('color', width=32, height=24)),
        ahead(Camera('gray', width=32, height=24, image_type=ImageType.GRAYSCALE)),
    )
    look(body, simulate, objects=colored_objects())
    color, gray = body.devices_of(Camera)
    expected = color.image @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(gray.image, expected, atol=0.51)


def test_fisheye_sees_to_the_sides(simulate: Simulate) -> None:
    """A fisheye of 180 degrees sees a ball beside it; two back to back see one behind too."""
    objects = {
        'side': ObjectParameters('sphere', [0.4], [0.0, 1.0, 1.0], color=[1.0, 0.0, 0.0, 1.0]),
        'back': ObjectParameters('sphere', [0.4], [-1.5, 0.0, 1.0], color=[0.0, 0.0, 1.0, 1.0]),
    }
    lens = {'field_of_view': math.pi, 'height': 40}
    body = make_eye(
        ahead(Camera('one', width=40, lens_type=LensType.FISHEYE, **lens)),
        ahead(Camera('two', width=80, lens_type=LensType.DUAL_FISHEYE, **lens)),
    )
    look(body, simulate, floor=False, objects=objects)
    one, two = (camera.image.astype(int) for camera in body.devices_of(Camera))
    red = one[:, :, 0] > 60
    assert middle_of(red)[0] < 8.0
    assert not (one[:, :, 2] > 60).any()
    np.testing.assert_array_equal(two[:, :40], one)
    assert middle_of(two[:, :, 2] > 60) == pytest.approx((59.5, 19.5), abs=1.0)
    # The corners are dark.
    assert one[0, 0].sum() == 0


@pytest.mark.parametrize('renderer', ['rays', 'gl'])
def test_lamp_counts_once_it_was_announced(renderer: str, simulate: Simulate) -> None:
    """Switching a lamp changes the picture only after notify_state_change."""
    body = make_eye(
        ahead(Camera('camera', width=16, height=12, frame_rate=100.0)),
        ahead(PointLight('lamp', on=False)),
        ahead(SpotLight('spot', on=False, color=(0.0, 1.0, 0.0), cut_off_angle=0.1)),
    )
    camera, lamp, spot = body.devices
    assert isinstance(camera, Camera)
    try:
        hardware = look(
            body,
            simulate,
            camera_renderer=renderer,
            ambient_light=0.1,
            floor=False,
            objects={'wall': wall(2.0, (1.0, 1.0, 1.0, 1.0))},
        )
    except RenderingUnavailable as error:
        pytest.skip(str(error))

    def brightness() -> np.ndarray:
        hardware.read()
        hardware.write()
        return camera.image.astype(float)

    dark = brightness()
    lamp.on = True
    np.testing.assert_array_equal(brightness(), dark)
    lamp.notify_state_change()
    lit = brightness()
    assert lit.mean() > dark.mean() + 50
    lamp.on = False
    lamp.notify_state_change()
    np.testing.assert_array_equal(brightness(), dark)
    if renderer == 'rays':
        # The graphics library lights a wall by its corners alone: too coarse for a beam.
        spot.on = True
        spot.notify_state_change()
        beam = brightness() - dark
        assert beam[6, 8, 1] > 50
        assert beam[:, :, 0].max() == 0
        assert beam[0, 0].max() == 0
    hardware.close()


def test_sensors_keep_their_rates_and_delays(simulate: Simulate) -> None:
    """A camera of 25 Hz in a loop of 100 Hz gives a picture every 4 ticks, late by its delay."""
    body = make_eye(
        ahead(Camera('prompt', width=4, height=3, frame_rate=25.0)),
        ahead(Camera('late', width=4, height=3, frame_rate=25.0, delay=0.02)),
        ahead(Camera('off', width=4, height=3, on=False)),
    )
    arrivals: dict[str, list[float]] = {device.name: [] for device in body.devices}
    request = make_request(body, {})
    request.devices = set(arrivals)
    hardware = simulate(body, request, 0.01, camera_renderer='rays')
    for device in body.devices:
        device.state_changed.connect(lambda d: arrivals[d.name].append(round(hardware.time, 6)))
    for _ in range(11):
        hardware.read()
        hardware.write()
    assert arrivals == {'prompt': [0.0, 0.04, 0.08], 'late': [0.02, 0.06, 0.1], 'off': []}


def test_moving_camera_sees_the_wall_come_nearer(simulate: Simulate) -> None:
    """Rays start where the sensor is now."""
    body = make_eye(ahead(RangeSensor('laser', yaw_range=0.2, yaw_step=0.1, frame_rate=100.0)))
    body.description.links[0].joint_type = JointType.FREE
    body = Body(body.description)
    request = make_request(body, {'eye': StateFlag.LINK_POSITION})
    request.devices = {'laser'}
    hardware = simulate(body, request, 0.01, floor=False, objects={'wall': wall(2.0)})
    laser = body.devices_of(RangeSensor)[0]
    for tick in range(10):
        hardware.read()
        body.root_link.p = np.array([0.01 * tick, 0.0, 1.0])
        hardware.write()
    middle = laser.range_data[laser.num_yaw_samples // 2]
    assert middle == pytest.approx(2.0 - 0.07, abs=1e-6)


def test_missing_graphics_library_is_named(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a library the renderer 'gl' says which ones it looked for; 'auto' uses rays."""
    monkeypatch.setattr('ctypes.util.find_library', lambda name: None)
    monkeypatch.delenv('MUJOCO_GL', raising=False)
    monkeypatch.delenv('PYOPENGL_PLATFORM', raising=False)
    body = make_eye(ahead(Camera('camera', width=8, height=6)))
    with pytest.raises(RenderingUnavailable, match='no libEGL; no libOSMesa'):
        look(body, simulate, camera_renderer='gl')
    look(body, simulate, camera_renderer='auto')
    assert body.devices_of(Camera)[0].image.shape == (6, 8, 3)
