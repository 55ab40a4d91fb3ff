"""Log files are read by the MCAP library and its ROS 2 decoder, which know nothing of ours."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap_ros2.decoder import DecoderFactory

from cnoid_control.body.devices import (
    Camera,
    ForceSensor,
    Imu,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.reader import LogFile
from cnoid_control.log.writer import Batch, McapWriter
from cnoid_control.messages import layouts
from cnoid_control.messages.devices import IMAGE, POINTS, SCAN, kind_of
from cnoid_control.messages.layouts import MessageLayout, is_stamped, stamps

TIMES = np.array([0, 1_500_000_000, 2_000_000_001], dtype=np.uint64)


def batch(topic: str, layout: MessageLayout, values: dict, times: np.ndarray = TIMES) -> Batch:
    """Messages of a layout."""
    if is_stamped(layout.schema):
        values = values | {'header.stamp': stamps(times)}
    return Batch(topic, layout.schema, times, layout.encode(values, len(times)))


def log_layout(device: Device) -> MessageLayout:
    """Message of a device in a log."""
    return kind_of(device).log[0].layout(device.name)


def decoded(path) -> dict[str, list]:
    """All messages of a file by topic, decoded by the library, checksums checked."""
    found: dict[str, list] = {}
    with path.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[DecoderFactory()])
        for _, channel, message, content in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, content))
    return found


def write(path, *chunks: list[Batch]) -> None:
    """Write a file of these chunks."""
    writer = McapWriter(path, {'run': {'who': 'test'}})
    for chunk in chunks:
        writer.write(chunk)
    writer.close()


def test_joint_states_are_read_back(tmp_path):
    """Stamps, names and every number are the same; a joint state may have no efforts."""
    path = tmp_path / 'x.mcap'
    numbers = np.random.default_rng(1).normal(size=(3, 2))
    values = {'position': numbers, 'velocity': -numbers, 'effort': 2 * numbers}
    write(
        path,
        [
            batch('joint_states', layouts.joint_state(['a', 'bcd']), values),
            batch(
                'few',
                layouts.joint_state(['a', 'bcd'], with_effort=False),
                {'position': numbers, 'velocity': -numbers},
            ),
        ],
    )
    messages = decoded(path)
    for (time, message), row, ns in zip(
        messages['joint_states'], numbers, TIMES.tolist(), strict=True
    ):
        assert time == ns
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == ns
        assert message.name == ['a', 'bcd']
        assert message.position == row.tolist()
        assert message.velocity == (-row).tolist()
        assert message.effort == (2 * row).tolist()
    assert messages['few'][0][1].effort == []


def test_all_kinds_of_messages_are_read_back(tmp_path):
    """Each layout agrees with its definition, whatever is in front of its numbers."""
    path = tmp_path / 'x.mcap'
    rng = np.random.default_rng(2)

    def some(size: int) -> np.ndarray:
        return rng.normal(size=(3, size))

    pose, twist, wrench, w, dv, data = some(7), some(6), some(6), some(3), some(3), some(5)
    pixels = rng.integers(0, 255, size=(2, 3, 3), dtype=np.uint8)
    points = rng.normal(size=(4, 3)).astype('<f4')
    scanner = RangeSensor('nose', yaw_range=0.3, yaw_step=0.1, max_distance=6.0)
    ranges = some(4).astype('<f4')[0]
    cameras = Camera('eye'), RangeCamera('eye', organized=True, height=2)
    write(
        path,
        [
            batch(
                'root',
                layouts.odometry('world', 'WAIST'),
                {'pose.pose': pose, 'twist.twist': twist},
            ),
            batch('wrench', log_layout(ForceSensor('foot')), {'wrench': wrench}),
            batch(
                'imu',
                log_layout(Imu('head')),
                {'angular_velocity': w, 'linear_acceleration': dv},
            ),
            batch('gyro', log_layout(RateGyroSensor('head')), {'vector': w}),
            batch('numbers', layouts.numbers(5), {'data': data}),
            batch('nothing', layouts.numbers(0), {}),
            batch('text', MessageLayout(layouts.TEXT, {'data': 'hello'}), {}),
            batch('image', IMAGE.layout(cameras[0], 'eye', pixels), {}),
            batch('cloud', POINTS.layout(cameras[1], 'eye', points), {}),
            batch('scan', SCAN.layout(scanner, 'nose', ranges), {}),
        ],
    )
    messages = {topic: [content for _, content in found] for topic, found in decoded(path).items()}
    root = messages['root'][2]
    assert (root.header.frame_id, root.child_frame_id) == ('world', 'WAIST')
    position, orientation = root.pose.pose.position, root.pose.pose.orientation
    assert [position.x, position.y, position.z] == pose[2, :3].tolist()
    assert [orientation.x, orientation.y, orientation.z, orientation.w] == pose[2, 3:].tolist()
    assert root.twist.twist.angular.z == twist[2, 5]
    assert messages['wrench'][1].wrench.torque.x == wrench[1, 3]
    assert messages['imu'][1].angular_velocity.y == w[1, 1]
    assert messages['imu'][1].linear_acceleration.z == dv[1, 2]
    assert messages['imu'][1].orientation_covariance[0] == -1.0
    assert messages['gyro'][0].vector.z == w[0, 2]
    assert messages['numbers'][1].data == data[1].tolist()
    assert messages['nothing'][0].data == []
    assert messages['text'][0].data == 'hello'
    image = messages['image'][0]
    assert (image.height, image.width, image.encoding, image.step) == (2, 3, 'rgb8', 9)
    assert bytes(image.data) == pixels.tobytes()
    cloud = messages['cloud'][0]
    assert [one.name for one in cloud.fields] == ['x', 'y', 'z']
    assert [one.offset for one in cloud.fields] == [0, 4, 8]
    assert (cloud.point_step, cloud.row_step, cloud.is_dense) == (12, 24, True)
    assert bytes(cloud.data) == points.tobytes()
    assert messages['scan'][1].range_max == 6.0
    assert messages['scan'][1].ranges == ranges.tolist()


def test_chunks_and_single_messages_are_indexed(tmp_path):
    """Topics may come late, twice in a chunk and in messages of different lengths."""
    path = tmp_path / 'x.mcap'
    later = TIMES + np.uint64(10**10)
    short, long = layouts.numbers(1), layouts.numbers(3)
    write(
        path,
        [batch('a', short, {'data': np.ones((3, 1))})],
        [
            batch('b', long, {'data': np.ones((3, 3))}, later),
            batch('a', long, {'data': np.ones((3, 3))}, later),
            batch('a', short, {'data': np.ones((3, 1))}, later + np.uint64(1)),
        ],
    )
    with path.open('rb') as stream:
        summary = make_reader(stream).get_summary()
    assert summary.statistics.message_count == 12
    assert summary.statistics.chunk_count == 2
    assert sorted(summary.statistics.channel_message_counts.values()) == [3, 9]
    assert {schema.name for schema in summary.schemas.values()} == {
        'std_msgs/msg/Float64MultiArray'
    }
    assert len(decoded(path)['a']) == 9
    with path.open('rb') as stream:
        found = make_reader(stream).iter_messages(topics=['a'])
        assert sorted(message.sequence for _, _, message in found) == list(range(9))


def test_metadata_and_rows_are_read_back(tmp_path):
    """LogFile gives what was written, to the bit."""
    path = tmp_path / 'x.mcap'
    data = np.array([[1.0], [np.nan], [-0.0]])
    write(path, [batch('a', layouts.numbers(1), {'data': data})])
    log = LogFile(path)
    assert log.metadata == {'run': {'who': 'test'}}
    assert log.topics == ['a']
    assert log.schema('a') == 'std_msgs/msg/Float64MultiArray'
    np.testing.assert_array_equal(log.times('a'), TIMES)
    found = layouts.numbers(1).decode(log.rows('a'), 'data')
    assert found.tobytes() == data.tobytes()
    with pytest.raises(LogError, match="no topic 'b'; choose from: a"):
        log.rows('b')


def test_full_disk_leaves_a_readable_file(tmp_path, monkeypatch):
    """A chunk that did not fit is gone as a whole; what was written before stays."""
    path = tmp_path / 'x.mcap'
    writer = McapWriter(path, {})
    layout = layouts.numbers(1)
    writer.write([batch('a', layout, {'data': np.ones((3, 1))})])

    class Full:
        """A file with no room for more than ten bytes at a time, and then none."""

        def __init__(self, file) -> None:
            self.file = file
            self.writes = 0

        def write(self, data) -> int:
            self.writes += 1
            if self.writes > 1:
                raise OSError(errno.ENOSPC, 'No space left on device')
            return self.file.write(data[:10])

        def __getattr__(self, name):
            return getattr(self.file, name)

    real = writer._file
    writer._file = Full(real)
    with pytest.raises(OSError, match='No space left'):
        writer.write([batch('b', layout, {'data': np.ones((3, 1))})])
    writer._file = real
    writer.write([batch('b', layout, {'data': np.ones((3, 1))})])
    writer.close()
    assert {topic: len(found) for topic, found in decoded(path).items()} == {'a': 3, 'b': 3}


def test_unwritable_path_is_named(tmp_path):
    """The message names the file and the reason; a folder that is missing is made."""
    (tmp_path / 'no').touch()
    with pytest.raises(LogError, match=r'no/x.mcap cannot be written: (File exists|Not a dir)'):
        McapWriter(tmp_path / 'no' / 'x.mcap', {})
    McapWriter(tmp_path / 'new' / 'x.mcap', {}).close()
    assert (tmp_path / 'new' / 'x.mcap').is_file()


@pytest.mark.parametrize('content', [b'', b'hello', b'\x89MCAP0\r\n' + b'x' * 50])
def test_files_that_are_no_logs_are_refused(tmp_path, content):
    """Whatever they are."""
    path = tmp_path / 'x.mcap'
    path.write_bytes(content)
    with pytest.raises(LogError, match=r'x\.mcap: is not an undamaged MCAP file'):
        LogFile(path)


def test_damaged_file_is_refused(tmp_path):
    """A flipped bit in a chunk is noticed."""
    path = tmp_path / 'x.mcap'
    data = np.random.default_rng(3).normal(size=(3, 100))
    write(path, [batch('a', layouts.numbers(100), {'data': data})])
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(LogError):
        LogFile(path)


def test_file_that_was_cut_off_is_read_up_to_there(tmp_path):
    """A run that crashed has left whole chunks behind."""
    path = tmp_path / 'x.mcap'
    data = np.random.default_rng(3).normal(size=(3, 100))
    later = TIMES + np.uint64(10**10)
    first = [batch('a', layouts.numbers(100), {'data': data})]
    write(path, first, [batch('a', layouts.numbers(100), {'data': data}, later)])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    log = LogFile(path)
    np.testing.assert_array_equal(log.times('a'), TIMES)
    assert log.metadata == {'run': {'who': 'test'}}
    assert not log.is_complete


@pytest.mark.parametrize('compression', ['NONE', 'LZ4', 'ZSTD'])
def test_files_of_other_writers_are_read(tmp_path, compression):
    """As the MCAP library itself writes them."""
    path = tmp_path / 'x.mcap'
    with path.open('wb') as stream:
        writer = Writer(stream, compression=CompressionType[compression])
        writer.start()
        schema = writer.register_schema('std_msgs/msg/String', 'ros2msg', b'string data')
        channel = writer.register_channel('text', 'cdr', schema)
        for time in range(5):
            writer.add_message(channel, time, b'hello %d' % time, time)
        writer.finish()
    log = LogFile(path)
    assert log.schema('text') == 'std_msgs/msg/String'
    assert log.messages('text') == [b'hello %d' % time for time in range(5)]


def test_missing_file_is_named(tmp_path):
    """With what the system says."""
    with pytest.raises(LogError, match=r'gone\.mcap: cannot be read: No such file'):
        LogFile(tmp_path / 'gone.mcap')
