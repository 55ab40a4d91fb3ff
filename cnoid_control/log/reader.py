"""Reader of MCAP files."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Schema
from mcap.writer import MCAP0_MAGIC

from cnoid_control.exceptions import choices
from cnoid_control.log.exceptions import LogError

RECORD_HEAD = struct.Struct('<BQ')
MESSAGE_HEAD = struct.Struct('<HIQQ')
DECOMPRESS: dict[str, Callable[[bytes, int], bytes]] = {
    '': lambda data, size: data,
    'zstd': lambda data, size: zstandard.decompress(data, max_output_size=size),
    'lz4': lambda data, size: lz4.frame.decompress(data),
}


class LogFile:
    """Messages and metadata of a log, all in memory.

    The records are walked through directly, which takes a tenth of the time that a general reader
    needs. A file that ends within a record, as after a crash, is read up to there.

    Attributes:
        path: the file.
        metadata: maps of texts by name.
    """

    def __init__(self, path: str | Path, metadata_only: bool = False) -> None:
        """Read a file.

        Args:
            path: the file.
            metadata_only: whether to leave the messages out.

        Raises:
            LogError: it is not an MCAP file, or is damaged.
        """
        self.path = Path(path)
        self.metadata: dict[str, dict[str, str]] = {}
        self._metadata_only = metadata_only
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, Channel] = {}
        self._messages: dict[int, list[bytes]] = {}
        self._times: dict[int, list[int]] = {}
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise LogError(f'{path}: cannot be read: {error.strerror or error}') from error
        try:
            self._read(content)
        except Exception as error:
            # A damaged file makes the reading stumble in many ways.
            raise LogError(f'{path}: is not an undamaged MCAP file: {error}') from error
        self._topics = {
            channel.topic: number
            for number, channel in self._channels.items()
            if self._messages.get(number)
        }

    # --- reading ------------------------------------------------------------------------------

    def _read(self, content: bytes) -> None:
        head = content[len(MCAP0_MAGIC) : len(MCAP0_MAGIC) + 1]
        if not content.startswith(MCAP0_MAGIC) or head != bytes([Opcode.HEADER]):
            raise ValueError('it does not begin like one')
        for opcode, data in _records(content, len(MCAP0_MAGIC)):
            if opcode == Opcode.DATA_END:
                break
            if opcode == Opcode.METADATA:
                metadata = Metadata.read(_stream(data))
                self.metadata[metadata.name] = metadata.metadata
            elif opcode == Opcode.CHUNK and not self._metadata_only:
                self._read_chunk(Chunk.read(_stream(data)))
            elif not self._metadata_only:
                self._read_record(opcode, data)

    def _read_chunk(self, chunk: Chunk) -> None:
        records = DECOMPRESS[chunk.compression](chunk.data, chunk.uncompressed_size)
        if chunk.uncompressed_crc and zlib.crc32(records) != chunk.uncompressed_crc:
            raise ValueError('a checksum is wrong')
        for opcode, data in _records(records, 0):
            self._read_record(opcode, data)

    def _read_record(self, opcode: int, data: bytes) -> None:
        if opcode == Opcode.MESSAGE:
            channel, _, time, _ = MESSAGE_HEAD.unpack_from(data)
            self._messages[channel].append(data[MESSAGE_HEAD.size :])
            self._times[channel].append(time)
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(_stream(data))
            self._schemas[schema.id] = schema.name
        elif opcode == Opcode.CHANNEL:
            found = Channel.read(_stream(data))
            if found.id not in self._channels:
                self._channels[found.id] = found
                self._messages[found.id], self._times[found.id] = [], []

    # --- what is there ------------------------------------------------------------------------

    @property
    def topics(self) -> list[str]:
        """Names of the topics."""
        return list(self._topics)

    def schema(self, topic: str) -> str:
        """ROS type of a topic."""
        return self._schemas.get(self._channels[self._number(topic)].schema_id, '')

    def messages(self, topic: str) -> list[bytes]:
        """Serialized messages of a topic, in the order of the file."""
        return self._messages[self._number(topic)]

    def times(self, topic: str) -> np.ndarray:
        """Times of a topic's messages [ns], uint64."""
        return np.array(self._times[self._number(topic)], dtype=np.uint64)

    def rows(self, topic: str) -> np.ndarray:
        """Messages of a topic whose messages have one length, shape (messages, length), uint8.

        Raises:
            LogError: their lengths differ.
        """
        messages = self.messages(topic)
        if len({len(message) for message in messages}) != 1:
            raise LogError(f'{self.path}: messages of topic {topic!r} differ in length')
        joined = np.frombuffer(b''.join(messages), dtype=np.uint8)
        return joined.reshape(len(messages), -1)

    def _number(self, topic: str) -> int:
        if topic not in self._topics:
            raise LogError(f'{self.path} has no topic {topic!r}; {choices(self._topics)}')
        return self._topics[topic]


def _records(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Opcode and content of one record after the other, as far as they are complete."""
    head, end = RECORD_HEAD, len(data)
    while start + head.size <= end:
        opcode, length = head.unpack_from(data, start)
        start += head.size
        if start + length > end:
            return
        yield opcode, data[start : start + length]
        start += length


def _stream(data: bytes) -> Any:
    return ReadDataStream(io.BytesIO(data))
