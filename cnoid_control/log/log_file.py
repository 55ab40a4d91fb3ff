"""Reads what a log file holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mcap.reader import make_reader

from cnoid_control.log.exceptions import LogNotReadable, UnknownTopic


class LogFile:
    """Messages and metadata of a log, all in memory.

    Attributes:
        path: the file.
        metadata: maps of texts by name.
        topics: names of the topics in the order of their first message.
    """

    def __init__(self, path: str | Path) -> None:
        """Read a file.

        Raises:
            LogNotReadable: it is no MCAP file, or is damaged.
        """
        self.path = Path(path)
        self.metadata: dict[str, dict[str, str]] = {}
        self._messages: dict[str, list[bytes]] = {}
        self._times: dict[str, list[int]] = {}
        self._schemas: dict[str, str] = {}
        try:
            with self.path.open('rb') as stream:
                reader = make_reader(stream, validate_crcs=True)
                for metadata in reader.iter_metadata():
                    self.metadata[metadata.name] = metadata.metadata
                for schema, channel, message in reader.iter_messages():
                    topic = channel.topic
                    if topic not in self._messages:
                        self._messages[topic] = []
                        self._times[topic] = []
                        self._schemas[topic] = schema.name if schema is not None else ''
                    self._messages[topic].append(message.data)
                    self._times[topic].append(message.log_time)
        except OSError as error:
            text = f'cannot be read: {error.strerror or error}'
            raise LogNotReadable(path, text) from error
        except Exception as error:
            # A damaged file makes the library stumble in many ways, not all of them its own.
            raise LogNotReadable(path, f'is not an undamaged MCAP file: {error}') from error

    @property
    def topics(self) -> list[str]:
        """Names of the topics."""
        return list(self._messages)

    def schema(self, topic: str) -> str:
        """ROS type of a topic."""
        return self._schemas[self._known(topic)]

    def messages(self, topic: str) -> list[bytes]:
        """Serialized messages of a topic, in time order."""
        return self._messages[self._known(topic)]

    def times(self, topic: str) -> np.ndarray:
        """Times of a topic's messages [ns], uint64."""
        return np.array(self._times[self._known(topic)], dtype=np.uint64)

    def rows(self, topic: str) -> np.ndarray:
        """Messages of a topic whose messages have one length, shape (messages, length), uint8.

        Raises:
            LogNotReadable: their lengths differ.
        """
        messages = self.messages(topic)
        if len({len(message) for message in messages}) != 1:
            raise LogNotReadable(self.path, f'messages of topic {topic!r} differ in length')
        joined = np.frombuffer(b''.join(messages), dtype=np.uint8)
        return joined.reshape(len(messages), -1)

    def _known(self, topic: str) -> str:
        if topic not in self._messages:
            raise UnknownTopic(self.path, topic, self._messages)
        return topic
