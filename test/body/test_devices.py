import math

import numpy as np
import pytest
from body.models import sr1

from cnoid_control.body import (
    AccelerationSensor,
    Camera,
    Device,
    DeviceList,
    ForceSensor,
    GenericDevice,
    Imu,
    Light,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
    VisionSensor,
)
from cnoid_control.body.exceptions import ModelError

ALL_TYPES = [
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    Light,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
    SpotLight,
]


@pytest.mark.parametrize('device_type', ALL_TYPES)
def test_state_goes_through_a_vector(device_type: type[Device]) -> None:
    """The state of any device can be read as a vector and written to another one."""
    device, other = device_type('a'), device_type('b')
    random = np.random.default_rng(0)
    state = device.read_state()
    assert state.shape == (device.state_size,)
    changed = np.where(np.arange(device.state_size) == 0, 0.0, random.uniform(1, 2, state.size))
    other.write_state(changed)
    np.testing.assert_allclose(other.read_state(), changed)
    assert other.on is False
    device.copy_state_from(other)
    np.testing.assert_array_equal(device.read_state(), other.read_state())
    with pytest.raises(ValueError, match=str(device.state_size)):
        device.write_state(np.zeros(device.state_size + 1))


@pytest.mark.parametrize('device_type', ALL_TYPES)
def test_clone_shares_nothing(device_type: type[Device]) -> None:
    """A clone has its own arrays and signals and is on no body."""
    device = device_type('a', id=3)
    heard = []
    device.state_changed.connect(heard.append)
    twin = device.clone()
    twin.notify_state_change()
    assert heard == []
    assert (twin.id, twin.link, twin.index) == (3, None, -1)
    for key, value in vars(device).items():
        if isinstance(value, np.ndarray) and value.size:
            assert not np.shares_memory(value, getattr(twin, key)), key


def test_state_of_another_class_is_refused() -> None:
    """Only a device of the very same class can give its state."""
    with pytest.raises(TypeError, match='ForceSensor'):
        Imu('imu').copy_state_from(ForceSensor('force'))
    with pytest.raises(TypeError, match='PointLight'):
        SpotLight('spot').copy_state_from(PointLight('point'))


def test_notification_can_be_disconnected() -> None:
    """Whoever is connected hears of every change until disconnected."""
    light = Light('lamp')
    heard: list[Device] = []
    disconnect = light.state_changed.connect(heard.append)
    light.notify_state_change()
    disconnect()
    light.notify_state_change()
    assert heard == [light]


def test_pictures_are_data_not_state() -> None:
    """Pictures, points and ranges of any size are copied, but are no part of the vector."""
    seen, copied = RangeCamera('a'), RangeCamera('b')
    seen.image = np.ones((4, 6, 3), dtype=np.uint8)
    seen.points = np.ones((24, 3), dtype=np.float32)
    size = seen.state_size
    copied.copy_state_from(seen)
    assert copied.state_size == size
    np.testing.assert_array_equal(copied.image, seen.image)
    assert not np.shares_memory(copied.points, seen.points)
    copied.clear_state()
    assert copied.image.size == copied.points.size == 0


def test_clear_state_forgets_measurements() -> None:
    """Clearing a sensor zeroes what it measured and keeps its limits."""
    sensor = ForceSensor('f', F_max=np.full(6, 100.0))
    sensor.F[:] = 1.0
    sensor.clear_state()
    np.testing.assert_array_equal(sensor.F, np.zeros(6))
    np.testing.assert_array_equal(sensor.F_max, np.full(6, 100.0))


def test_force_sensor_names() -> None:
    """Force and torque are views on one wrench."""
    sensor = ForceSensor('f')
    sensor.f[:] = [1.0, 2.0, 3.0]
    sensor.tau[2] = 4.0
    assert sensor.F.tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 4.0]
    assert sensor.wrench is sensor.F
    assert sensor.force.tolist() == [1.0, 2.0, 3.0]
    assert sensor.torque.tolist() == [0.0, 0.0, 4.0]


def test_camera_angles() -> None:
    """The field of view is over the shorter side; the other follows from the picture's shape."""
    wide = Camera('c', width=640, height=480, field_of_view=math.pi / 2)
    assert math.isclose(wide.vertical_field_of_view, math.pi / 2)
    assert math.isclose(wide.horizontal_field_of_view, 2.0 * math.atan(4.0 / 3.0))
    tall = Camera('c', width=480, height=640, field_of_view=math.pi / 2)
    assert math.isclose(tall.horizontal_field_of_view, math.pi / 2)


def test_range_sensor_directions() -> None:
    """Directions begin at the right, end at the left, and are the step apart."""
    sensor = RangeSensor('r', yaw_range=2.0, yaw_step=0.5, pitch_range=0.4, pitch_step=0.4)
    np.testing.assert_allclose(sensor.yaw_angles, [-1.0, -0.5, 0.0, 0.5, 1.0])
    np.testing.assert_allclose(sensor.pitch_angles, [-0.2, 0.2])
    fresh = RangeSensor('r')
    assert (fresh.num_yaw_samples, fresh.num_pitch_samples, fresh.range_data.size) == (3, 1, 0)


def test_list_picks_by_type() -> None:
    """A device list holds one type: from the start, and of what is appended."""
    body = sr1()
    forces = DeviceList(ForceSensor, body.devices)
    assert [sensor.id for sensor in forces] == [0, 1]
    assert [camera.name for camera in body.devices_of(VisionSensor)] == [
        'LeftCamera',
        'RightCamera',
    ]
    cameras = DeviceList(Camera)
    returned = cameras << body.devices
    assert returned is cameras
    assert len(cameras) == 2


def test_sorted_by_id() -> None:
    """Sorted by id every device is at its number, with holes where there is none."""
    devices = DeviceList(Imu, [Imu('c', id=2), Imu('none'), Imu('a', id=0)])
    names = [device.name if device is not None else None for device in devices.sorted_by_id()]
    assert names == ['a', None, 'c']


def test_find_device() -> None:
    """A device is found by type and name; another type of that name is not it."""
    body = sr1()
    assert body.find_device(Imu, 'WaistIMU') is body.device(2)
    with pytest.raises(ModelError, match=r"no ForceSensor 'WaistIMU'; choose from: .*AnkleForce"):
        body.find_device(ForceSensor, 'WaistIMU')
    with pytest.raises(ModelError, match=r"no Imu 'Nose'; choose from: WaistIMU"):
        body.find_device(Imu, 'Nose')
    with pytest.raises(ModelError, match=r"'Camera' is no type of device; give the class"):
        body.find_device('Camera', 'LeftCamera')
    assert body.device('WaistIMU') is body.device(2)
    with pytest.raises(ModelError, match=r"no device 'Nose'; choose from: .*WaistIMU"):
        body.device('Nose')
    assert body.num_devices == 7


def test_generic_device_keeps_what_the_model_says() -> None:
    """A device of a kind without a class has its kind, its info, and values if any."""
    device = GenericDevice('rotor', kind='RotorDevice', info={'pitch': 2.0}, size=2)
    assert device.state_size == 3
    device.write_state(np.array([1.0, 4.0, 5.0]))
    np.testing.assert_array_equal(device.values, [4.0, 5.0])
    twin = device.clone()
    device.clear_state()
    np.testing.assert_array_equal(device.values, [0.0, 0.0])
    np.testing.assert_array_equal(twin.values, [4.0, 5.0])
    assert (twin.kind, twin.info) == ('RotorDevice', {'pitch': 2.0})
    assert GenericDevice('a').values.shape == (0,)
