"""Reader of MCAP files."""

from __future__ import annotations

import io
import os
import struct
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Metadata, Schema
from mcap.writer import MCAP0_MAGIC

from cnoid_control.exceptions import choices
from cnoid_control.log.exceptions import LogError

RECORD_HEAD = struct.Struct('<BQ')
MESSAGE_HEAD = struct.Struct('<HIQQ')
# What stands before the records of a chunk: times of its first and last message, size and
# checksum of the records; then the compression as a text, and the length of the records.
CHUNK_HEAD = struct.Struct('<QQQI')
INDEX_HEAD = struct.Struct('<HI')
INDEX_ENTRY = np.dtype([('log_time', '<u8'), ('offset', '<u8')])
DECOMPRESS: dict[str, Callable[[bytes, int], bytes]] = {
    '': lambda data, size: data,
    'zstd': lambda data, size: zstandard.decompress(data, max_output_size=size),
    'lz4': lambda data, size: lz4.frame.decompress(data),
}
# Decompressed chunks that are kept: who scrubs to and fro stays within a few.
KEPT_CHUNKS = 16


@dataclass
class _Chunk:
    """Records that were written together.

    Attributes:
        start, length: where they stand in the file, compressed.
        compression: how; empty for not at all.
        size, crc: length and checksum of the records; no checksum where it is 0.
        index: where the index entries of each channel stand in the file, and their number.
        entries: index entries by channel, where the file has no index of the chunk.
    """

    start: int
    length: int
    compression: str
    size: int
    crc: int
    index: dict[int, tuple[int, int]] = field(default_factory=dict)
    entries: dict[int, np.ndarray] = field(default_factory=dict)


class LogFile:
    """Messages, metadata and attachments of a log.

    Opening walks from record to record and reads no message: chunks are read when their messages
    are asked for, so that a log of any length opens at once. A file that ends within a record, as
    after a crash, is read up to there.

    Attributes:
        path: the file.
        metadata: maps of texts by name.
        is_complete: whether the file was closed; False where it was cut off.
    """

    def __init__(self, path: str | Path) -> None:
        """Find everything in a file.

        Raises:
            LogError: it is not an MCAP file, or is damaged.
        """
        self.path = Path(path)
        self.metadata: dict[str, dict[str, str]] = {}
        self.is_complete = False
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, Channel] = {}
        self._chunks: list[_Chunk] = []
        self._attachments: dict[str, tuple[int, int]] = {}
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        try:
            # Not mapped into memory: a run that records over it would take the pages away.
            self._file = os.open(self.path, os.O_RDONLY)
            weakref.finalize(self, os.close, self._file)
            self._size = os.fstat(self._file).st_size
            self._walk()
        except OSError as error:
            raise LogError(f'{path}: cannot be read: {error.strerror or error}') from error
        except LogError:
            raise
        except Exception as error:
            # A damaged file makes the reading stumble in many ways.
            raise self._damaged(error) from error
        self._topics: dict[str, int] = {}
        for chunk in self._chunks:
            for number in (*chunk.index, *chunk.entries):
                self._topics[self._channels[number].topic] = number

    def _damaged(self, error: Exception) -> LogError:
        return LogError(f'{self.path}: is not an undamaged MCAP file: {error}')

    # --- opening ------------------------------------------------------------------------------

    def _walk(self) -> None:
        head = self._read(0, len(MCAP0_MAGIC) + 1)
        if head != MCAP0_MAGIC + bytes([Opcode.HEADER]):
            raise ValueError('it does not begin like one')
        loose: list[bytes] = []
        for opcode, start, length in self._records():
            if opcode == Opcode.DATA_END:
                self.is_complete = True
                break
            if opcode == Opcode.METADATA:
                metadata = Metadata.read(_stream(self._read(start, length)))
                self.metadata[metadata.name] = metadata.metadata
            elif opcode == Opcode.ATTACHMENT:
                self._find_attachment(start, length)
            elif opcode == Opcode.CHUNK:
                self._find_chunk(start)
            elif opcode == Opcode.MESSAGE_INDEX:
                channel, size = INDEX_HEAD.unpack(self._read(start, INDEX_HEAD.size))
                entries = (start + INDEX_HEAD.size, size // INDEX_ENTRY.itemsize)
                if entries[1]:
                    self._chunks[-1].index[channel] = entries
            elif opcode in (Opcode.MESSAGE, Opcode.SCHEMA, Opcode.CHANNEL):
                loose.append(RECORD_HEAD.pack(opcode, length) + self._read(start, length))
        if loose:
            self._add_loose(b''.join(loose))
        self._find_channels()

    def _records(self) -> Iterator[tuple[int, int, int]]:
        """Opcode, start and length of one record after the other, as far as they are complete."""
        start = len(MCAP0_MAGIC)
        while start + RECORD_HEAD.size <= self._size:
            opcode, length = RECORD_HEAD.unpack(self._read(start, RECORD_HEAD.size))
            start += RECORD_HEAD.size
            if start + length > self._size:
                return
            yield opcode, start, length
            start += length

    def _find_attachment(self, start: int, length: int) -> None:
        # Two times, then the name.
        size = int.from_bytes(self._read(start + 16, 4), 'little')
        self._attachments[self._read(start + 20, size).decode()] = (start, length)

    def _find_chunk(self, start: int) -> None:
        _, _, size, crc = CHUNK_HEAD.unpack(self._read(start, CHUNK_HEAD.size))
        start += CHUNK_HEAD.size
        name = int.from_bytes(self._read(start, 4), 'little')
        compression = self._read(start + 4, name).decode()
        start += 4 + name
        length = int.from_bytes(self._read(start, 8), 'little')
        self._chunks.append(_Chunk(start + 8, length, compression, size, crc))

    def _add_loose(self, records: bytes) -> None:
        """Take messages outside of chunks, as some writers leave them, for a chunk."""
        self._kept[len(self._chunks)] = records
        self._chunks.append(_Chunk(-1, 0, '', len(records), 0))

    def _find_channels(self) -> None:
        """Find the channels where they are declared: in the chunk of their first message."""
        for number, chunk in enumerate(self._chunks):
            # The index of the last chunk of a file that was cut off may be cut off as well.
            is_cut = not self.is_complete and number == len(self._chunks) - 1
            if is_cut or not chunk.index or not chunk.index.keys() <= self._channels.keys():
                self._scan(number, indexed=bool(chunk.index) and not is_cut)

    def _scan(self, number: int, indexed: bool) -> None:
        chunk, records = self._chunks[number], self._load(number)
        found: dict[int, list[tuple[int, int]]] = {}
        for opcode, start, length in _records_in(records):
            if opcode == Opcode.MESSAGE:
                if not indexed:
                    channel, _, time, _ = MESSAGE_HEAD.unpack_from(records, start)
                    found.setdefault(channel, []).append((time, start - RECORD_HEAD.size))
            elif opcode == Opcode.SCHEMA:
                schema = Schema.read(_stream(records[start : start + length]))
                self._schemas[schema.id] = schema.name
            elif opcode == Opcode.CHANNEL:
                declared = Channel.read(_stream(records[start : start + length]))
                self._channels.setdefault(declared.id, declared)
        if not indexed:
            chunk.index = {}
            chunk.entries = {key: np.array(pairs, INDEX_ENTRY) for key, pairs in found.items()}

    # --- what is there ------------------------------------------------------------------------

    @property
    def topics(self) -> list[str]:
        """Names of the topics."""
        return list(self._topics)

    @property
    def attachments(self) -> list[str]:
        """Names of the attachments."""
        return list(self._attachments)

    def attachment(self, name: str) -> bytes:
        """Content of an attachment.

        Raises:
            LogError: there is none of that name, or it is damaged.
        """
        if name not in self._attachments:
            self.demand_ticks()
            raise LogError(f'{self.path} has no attachment {name!r}; {choices(self._attachments)}')
        content = self._read(*self._attachments[name])
        crc = int.from_bytes(content[-4:], 'little')
        if crc and zlib.crc32(content[:-4]) != crc:
            raise LogError(f'{self.path}: attachment {name!r} is damaged: a checksum is wrong')
        return Attachment.read(_stream(content)).data

    def demand_ticks(self) -> None:
        """Refuse a file that ends in front of the first message.

        Raises:
            LogError: it was cut off there.
        """
        if not self.is_complete and not self._topics:
            raise LogError(
                f'{self.path}: the log was cut off in front of its first tick, after '
                f'{self._size} bytes: nothing of the run is left'
            )

    def schema(self, topic: str) -> str:
        """ROS type of a topic."""
        return self._schemas.get(self._channels[self._number(topic)].schema_id, '')

    def count(self, topic: str) -> int:
        """Number of a topic's messages."""
        return int(self._places(self._number(topic))[1][-1])

    def times(self, topic: str) -> np.ndarray:
        """Times of a topic's messages [ns], uint64."""
        number = self._number(topic)
        chunks = [self._chunks[place] for place in self._places(number)[0].tolist()]
        return np.concatenate([self._entries(chunk, number)['log_time'] for chunk in chunks])

    def messages(self, topic: str, numbers: np.ndarray | None = None) -> list[bytes]:
        """Serialized messages of a topic, of any length, in the order of the file.

        Args:
            topic: the topic.
            numbers: which of its messages, rising; all where None.

        Raises:
            LogError: the file is damaged.
        """
        channel = self._number(topic)
        found: list[bytes] = []
        for place, chosen in self._split(channel, numbers):
            records = self._load(place)
            offsets = self._entries(self._chunks[place], channel)['offset']
            for offset in (offsets if chosen is None else offsets[chosen]).tolist():
                _, length = RECORD_HEAD.unpack_from(records, offset)
                start = offset + RECORD_HEAD.size
                found.append(records[start + MESSAGE_HEAD.size : start + length])
        return found

    def rows(self, topic: str, numbers: np.ndarray | None = None) -> np.ndarray:
        """Messages of a topic whose messages have one length, shape (messages, length), uint8.

        Args:
            topic: the topic.
            numbers: which of its messages, rising; all where None.

        Raises:
            LogError: their lengths differ, or the file is damaged.
        """
        return self.gather({topic: numbers})[topic]

    def gather(self, wanted: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
        """Rows of several topics, see `rows`; each chunk is read once."""
        found: dict[str, list[np.ndarray]] = {topic: [] for topic in wanted}
        plan: dict[int, list[tuple[str, np.ndarray | None]]] = {}
        for topic, numbers in wanted.items():
            for place, chosen in self._split(self._number(topic), numbers):
                plan.setdefault(place, []).append((topic, chosen))
        for place in sorted(plan):
            for topic, chosen in plan[place]:
                offsets = self._entries(self._chunks[place], self._number(topic))['offset']
                offsets = offsets if chosen is None else offsets[chosen]
                found[topic].append(self._cut(self._load(place), offsets, topic))
        for topic, parts in found.items():
            if len({part.shape[1] for part in parts}) > 1:
                raise self._uneven(topic)
        nothing = np.zeros((0, 0), np.uint8)
        return {t: np.concatenate(parts) if parts else nothing for t, parts in found.items()}

    def _split(
        self, channel: int, numbers: np.ndarray | None
    ) -> Iterator[tuple[int, np.ndarray | None]]:
        """Chunks that hold messages of a channel, with the numbers of them inside the chunk."""
        places, ends = self._places(channel)
        if numbers is None:
            yield from ((place, None) for place in places.tolist())
            return
        owners = np.searchsorted(ends, numbers, side='right')
        for owner in np.unique(owners).tolist():
            first = int(ends[owner - 1]) if owner else 0
            yield int(places[owner]), numbers[owners == owner] - first

    def _places(self, channel: int) -> tuple[np.ndarray, np.ndarray]:
        """Chunks of a channel, and the number of its messages up to the end of each."""
        if channel not in self._found:
            counts = {
                place: chunk.index[channel][1] if channel in chunk.index else len(entries)
                for place, chunk in enumerate(self._chunks)
                if len(entries := chunk.entries.get(channel, ())) or channel in chunk.index
            }
            ends = np.cumsum(list(counts.values()), dtype=np.int64)
            self._found[channel] = np.array(list(counts), dtype=np.int64), ends
        return self._found[channel]

    # --- reading ------------------------------------------------------------------------------

    def _number(self, topic: str) -> int:
        if topic not in self._topics:
            raise LogError(f'{self.path} has no topic {topic!r}; {choices(self._topics)}')
        return self._topics[topic]

    def _read(self, start: int, length: int) -> bytes:
        data = os.pread(self._file, length, start)
        if len(data) < length:
            raise self._damaged(EOFError('it ends too early'))
        return data

    def _entries(self, chunk: _Chunk, channel: int) -> np.ndarray:
        if channel in chunk.entries:
            return chunk.entries[channel]
        start, count = chunk.index.get(channel, (0, 0))
        return np.frombuffer(self._read(start, count * INDEX_ENTRY.itemsize), INDEX_ENTRY)

    def _load(self, number: int) -> bytes:
        """Records of a chunk.

        Raises:
            LogError: they are damaged.
        """
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        chunk = self._chunks[number]
        try:
            data = self._read(chunk.start, chunk.length)
            records = DECOMPRESS[chunk.compression](data, chunk.size)
            if chunk.crc and zlib.crc32(records) != chunk.crc:
                raise ValueError('a checksum is wrong')
        except LogError:
            raise
        except Exception as error:
            raise self._damaged(error) from error
        self._kept[number] = records
        loaded = [one for one in self._kept if self._chunks[one].start >= 0]
        if len(loaded) > KEPT_CHUNKS:
            del self._kept[loaded[0]]
        return records

    def _cut(self, records: bytes, offsets: np.ndarray, topic: str) -> np.ndarray:
        """Messages at offsets of a chunk, which have one length."""
        head = RECORD_HEAD.size
        data = np.frombuffer(records, np.uint8)
        places = offsets.astype(np.int64)
        sizes = data[places[:, None] + np.arange(1, head)].copy().view('<u8').ravel()
        if (sizes != sizes[0]).any():
            raise self._uneven(topic)
        start, stride = int(places[0]) + head + MESSAGE_HEAD.size, head + int(sizes[0])
        length = int(sizes[0]) - MESSAGE_HEAD.size
        if len(places) > 1 and (np.diff(places) == stride).all():
            # Written one after the other, they are cut out in one piece.
            block = data[int(places[0]) : int(places[0]) + stride * len(places)]
            return block.reshape(-1, stride)[:, stride - length :]
        return data[places[:, None] + np.arange(start, start + length) - places[0]]

    def _uneven(self, topic: str) -> LogError:
        return LogError(f'{self.path}: messages of topic {topic!r} differ in length')


def _records_in(data: bytes) -> Iterable[tuple[int, int, int]]:
    """Opcode, start and length of one record of a chunk after the other."""
    start, end = 0, len(data)
    while start + RECORD_HEAD.size <= end:
        opcode, length = RECORD_HEAD.unpack_from(data, start)
        start += RECORD_HEAD.size
        yield opcode, start, length
        start += length


def _stream(data: bytes) -> Any:
    return ReadDataStream(io.BytesIO(data))
