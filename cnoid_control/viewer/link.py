"""Requests and answers between the process of a run and the process of its view."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from cnoid_control.exceptions import CnoidControlError

# Longest wait for an answer [s].
TIMEOUT = 90.0


class Link:
    """One end of a line that carries one JSON object a line, both ways, in any order.

    Who asks gets the answer to what was asked; who serves answers each request in the thread that
    `serve` chooses. When the other end has gone, everybody who waits is told so.
    """

    def __init__(
        self,
        end: socket.socket,
        serve: Callable[[dict[str, Any]], Any],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Take one end of a socket pair.

        Args:
            end: the end.
            serve: called with each request in the reader's thread; what it returns is sent as the
                answer, and a CnoidControlError as the refusal. A Future is answered when done.
            ended: told, in the reader's thread, that the other end has gone.
        """
        self.closed = threading.Event()
        self._end = end
        self._serve = serve
        self._ended = ended
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._number = 0
        self._thread = threading.Thread(target=self._read, name='view link', daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def ask(self, request: dict[str, Any], timeout: float = TIMEOUT) -> Any:
        """Send a request and wait for its answer.

        Raises:
            CnoidControlError: it was refused, or the other end has gone or says nothing.
        """
        future: Future[Any] = Future()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = future
        if self.closed.is_set() or not self._send({'ask': number, **request}):
            raise CnoidControlError('the other end has gone')
        try:
            return future.result(timeout)
        except TimeoutError:
            raise CnoidControlError(f'no answer in {timeout:g} s') from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)

    def tell(self, message: dict[str, Any]) -> None:
        """Send something that needs no answer."""
        self._send({'ask': 0, **message})

    def close(self) -> None:
        """End the line."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _send(self, message: dict[str, Any]) -> bool:
        data = json.dumps(message).encode() + b'\n'
        try:
            with self._lock:
                self._end.sendall(data)
        except OSError:
            return False
        return True

    def _read(self) -> None:
        try:
            with self._end.makefile('rb') as lines:
                for line in lines:
                    self._take(json.loads(line))
        except (OSError, ValueError):
            pass
        finally:
            self.closed.set()
            with self._lock:
                waiting, self._waiting = list(self._waiting.values()), {}
            for future in waiting:
                if not future.done():
                    future.set_exception(CnoidControlError('the other end has gone'))
            self._ended()

    def _take(self, message: dict[str, Any]) -> None:
        if 'answer' in message:
            with self._lock:
                future = self._waiting.get(message['answer'])
            if future is None or future.done():
                return
            if 'refusal' in message:
                future.set_exception(CnoidControlError(message['refusal']))
            else:
                future.set_result(message['result'])
            return
        number = message.pop('ask')
        try:
            result = self._serve(message)
        except CnoidControlError as error:
            self._answer(number, error=error)
            return
        if isinstance(result, Future):
            result.add_done_callback(lambda done: self._answer_later(number, done))
        else:
            self._answer(number, result)

    def _answer_later(self, number: int, done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            self._answer(number, done.result())
        else:
            self._answer(number, error=error)

    def _answer(self, number: int, result: Any = None, error: BaseException | None = None) -> None:
        if not number:
            return
        if error is None:
            self._send({'answer': number, 'result': result})
        else:
            text = str(error) if isinstance(error, CnoidControlError) else repr(error)
            self._send({'answer': number, 'refusal': text})
