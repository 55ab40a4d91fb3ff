"""LogFile finds everything at once and reads only what is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.log import LogError, LogFile, McapWriter
from cnoid_control.log.reader import KEPT_CHUNKS
from cnoid_control.log.writer import Batch
from cnoid_control.messages import layouts

CHUNKS, ROWS = 40, 8


def numbers(topic: str, chunk: int, values: np.ndarray) -> Batch:
    """Messages of one chunk, a nanosecond apart."""
    layout = layouts.numbers(values.shape[1])
    times = np.arange(len(values), dtype=np.uint64) + np.uint64(chunk * ROWS)
    return Batch(topic, layout.schema, times, layout.encode({'data': values}, len(values)))


@pytest.fixture
def path(tmp_path):
    """A log of many chunks: `a` counts in every message, `b` begins in the middle."""
    path = tmp_path / 'x.mcap'
    writer = McapWriter(path, {'run': {'who': 'test'}}, {'one.txt': b'first', 'two': b''})
    for chunk in range(CHUNKS):
        count = chunk * ROWS + np.arange(float(ROWS))
        batches = [numbers('a', chunk, np.stack([count, -count], axis=1))]
        if chunk >= CHUNKS // 2:
            batches.append(numbers('b', chunk, count[:1, None]))
        writer.write(batches)
    writer.close()
    return path


def data(rows: np.ndarray) -> np.ndarray:
    """First numbers of messages."""
    return layouts.numbers_in(rows)[:, 0]


def test_any_messages_are_read_by_their_numbers(path):
    """Wherever they are; times need no message."""
    log = LogFile(path)
    assert log.is_complete
    assert (log.count('a'), log.count('b')) == (CHUNKS * ROWS, CHUNKS // 2)
    np.testing.assert_array_equal(log.times('a'), np.arange(CHUNKS * ROWS))
    chosen = np.array([0, 1, 7, 8, 100, 319])
    np.testing.assert_array_equal(data(log.rows('a', chosen)), chosen)
    both = log.gather({'a': None, 'b': np.array([3])})
    np.testing.assert_array_equal(data(both['a']), np.arange(CHUNKS * ROWS))
    np.testing.assert_array_equal(data(both['b']), [(CHUNKS // 2 + 3) * ROWS])


def test_only_chunks_that_are_needed_are_read(path, monkeypatch):
    """Opening reads those that declare a topic; then the one of the message; few are kept."""
    read = []
    load = LogFile._load
    monkeypatch.setattr(
        LogFile, '_load', lambda self, n: (n in self._kept or read.append(n), load(self, n))[1]
    )
    log = LogFile(path)
    assert read == [0, CHUNKS // 2]
    log.rows('a', np.array([5 * ROWS, 5 * ROWS + 1]))
    assert read[2:] == [5]
    log.rows('a')
    assert len(log._kept) == KEPT_CHUNKS


def test_attachments_are_read_back(path):
    """By name; one that is not there is named with those that are."""
    log = LogFile(path)
    assert log.attachments == ['one.txt', 'two']
    assert (log.attachment('one.txt'), log.attachment('two')) == (b'first', b'')
    with pytest.raises(LogError, match=r"no attachment 'x'; choose from: one\.txt, two"):
        log.attachment('x')


def test_damage_is_named_where_it_is_read(path):
    """A chunk in the middle that is broken costs that chunk; so does an attachment."""
    content = bytearray(path.read_bytes())
    log = LogFile(path)
    content[log._chunks[7].start + 9] ^= 0x10
    content[content.index(b'first')] ^= 0x10
    path.write_bytes(content)
    log = LogFile(path)
    assert len(log.rows('a', np.array([0, 1]))) == 2
    with pytest.raises(LogError, match=r'x\.mcap: is not an undamaged MCAP file'):
        log.rows('a', np.array([7 * ROWS]))
    with pytest.raises(LogError, match=r"attachment 'one\.txt' is damaged"):
        log.attachment('one.txt')


@pytest.mark.parametrize('missing', [5, 20, 40, 700])
def test_cut_off_anywhere_it_is_read_up_to_there(path, missing):
    """Even within the index of the last chunk, whose messages are all there."""
    log = LogFile(path)
    last = log._chunks[9]
    end = last.start + last.length
    content = path.read_bytes()
    path.write_bytes(content[: end + 40 - missing])
    log = LogFile(path)
    assert not log.is_complete
    whole = 10 if missing <= 40 else log.count('a') // ROWS
    assert log.count('a') == whole * ROWS
    np.testing.assert_array_equal(data(log.rows('a')), np.arange(whole * ROWS))


def test_file_that_is_replaced_meanwhile_does_no_harm(path):
    """As by a run that records into it again."""
    log = LogFile(path)
    McapWriter(path, {}).close()
    with pytest.raises(LogError):
        log.rows('a')
