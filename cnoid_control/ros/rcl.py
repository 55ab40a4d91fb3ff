"""Messages of a subscription by rcl's own functions, which rclpy calls too.

rclpy fills a wait set before each wait, looks through it afterwards, and hands out a dictionary
with each message. Here a thread of the middleware writes to an event counter of the kernel (an
eventfd), which wakes the thread that waits for it, and a message is copied into bytes.
"""

from __future__ import annotations

import ctypes
import os
import weakref

POINTER_SIZE = 8
TAKE_FAILED = 401
# What rmw says where a middleware does not count messages.
UNCOUNTED = 2**64 - 1
# Room for a message before the first one has come [bytes].
FIRST_CAPACITY = 4096
POLLIN = 1
NANOSECONDS = 1_000_000_000


class Allocator(ctypes.Structure):
    """rcutils_allocator_t."""

    _fields_ = tuple((f'field_{number}', ctypes.c_void_p) for number in range(5))


class SerializedMessage(ctypes.Structure):
    """rcl_serialized_message_t."""

    _fields_ = (
        ('buffer', ctypes.c_void_p),
        ('length', ctypes.c_size_t),
        ('capacity', ctypes.c_size_t),
        ('allocator', Allocator),
    )


class MessageInfo(ctypes.Structure):
    """rmw_message_info_t: its begin, and room for the rest."""

    _fields_ = (
        ('source_timestamp', ctypes.c_int64),
        ('received_timestamp', ctypes.c_int64),
        ('publication_sequence_number', ctypes.c_uint64),
        ('rest', ctypes.c_uint64 * 13),
    )


class PollFd(ctypes.Structure):
    """struct pollfd."""

    _fields_ = (('fd', ctypes.c_int), ('events', ctypes.c_short), ('revents', ctypes.c_short))


class Library:
    """The functions that are used, and their types.

    Those that are over at once keep the interpreter: to let go of it and to wait for it again
    takes longer than they do.
    """

    def __init__(self) -> None:
        """Find them in the libraries that rclpy has loaded.

        Raises:
            AttributeError: a function or library is not there, or is called otherwise here.
        """
        if ctypes.sizeof(ctypes.c_void_p) != POINTER_SIZE:
            raise AttributeError('eventfd_write takes other arguments than a callback of rcl')
        try:
            rcl, rcutils = ctypes.PyDLL('librcl.so'), ctypes.PyDLL('librcutils.so')
            quick, waiting = ctypes.PyDLL(None), ctypes.CDLL(None)
        except OSError as error:
            raise AttributeError(str(error)) from error
        pointer = ctypes.c_void_p
        # What is called in every tick is given C's own types: nothing has to be looked at.
        self.take = rcl.rcl_take_serialized_message
        self.set_callback = rcl.rcl_subscription_set_on_new_message_callback
        self.set_callback.argtypes = (pointer, pointer, pointer)
        self.reset_error = rcutils.rcutils_reset_error
        self.reset_error.restype = None
        self.begin_array = rcutils.rcutils_uint8_array_init
        self.begin_array.argtypes = (pointer, ctypes.c_size_t, pointer)
        self.end_array = rcutils.rcutils_uint8_array_fini
        self.end_array.argtypes = (pointer,)
        self.allocator = rcutils.rcutils_get_default_allocator
        self.allocator.restype = Allocator
        self.poll = waiting.ppoll
        self.read_count = quick.eventfd_read
        self.write_count = quick.eventfd_write
        self.write_count.argtypes = (ctypes.c_int, ctypes.c_uint64)
        # It takes what a callback is given: the descriptor for the user's data, and a number.
        self.count_up = ctypes.cast(self.write_count, pointer)


class RclSubscription:
    """The messages of one subscription, for one thread.

    What is passed to C is in objects that `close` changes: a thread that comes too late neither
    takes from what is gone nor touches a descriptor that is another file's by then.

    Attributes:
        info: what the middleware knows of the last message.
    """

    _library: Library | None = None

    def __init__(self, pointer: int) -> None:
        """Use a subscription, which must live until `close`.

        Args:
            pointer: address of its rcl_subscription_t.

        Raises:
            AttributeError: the library, or its middleware, does not have what is needed.
        """
        library = RclSubscription._library = RclSubscription._library or Library()
        self.info = MessageInfo()
        self._rcl = library
        self._pointer = ctypes.c_void_p(pointer)
        self._message = SerializedMessage()
        self._counter = ctypes.c_int(os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))
        self._poll_fd = PollFd(self._counter.value, POLLIN, 0)
        self._time = (ctypes.c_long * 2)()
        self._take, self._poll, self._read = library.take, library.poll, library.read_count
        by_reference = ctypes.byref
        self._to_take = (self._pointer, by_reference(self._message), by_reference(self.info), None)
        one = ctypes.c_ulong(1)
        self._to_poll = (by_reference(self._poll_fd), one, by_reference(self._time), None)
        self._to_read = (self._counter, by_reference(ctypes.c_uint64()))
        allocator = library.allocator()
        library.begin_array(self._to_take[1], FIRST_CAPACITY, by_reference(allocator))
        # Not in `close`: a thread that came too late may be reading it.
        weakref.finalize(self, library.end_array, self._to_take[1]).atexit = False
        self._look_at_buffer()
        self._is_told = False
        # Whether there may be a message: who has taken the last one has found none behind it.
        self._has_come = True
        if not self._be_told():
            self.close()
            raise AttributeError('the middleware does not tell of new messages')
        # Only who waits is told: the middleware has less to do then.
        self._be_told(False)

    def _be_told(self, wanted: bool = True) -> bool:
        """Have new messages counted, and those that are there, or not; whether it is so."""
        counter = (self._rcl.count_up, self._counter.value) if wanted else (None, None)
        status = self._rcl.set_callback(self._pointer, *counter)
        self._rcl.reset_error()
        self._is_told = wanted and not status
        return not status

    def take(self) -> bytes | None:
        """Oldest message that was not taken yet, at once; None where there is none."""
        status = self._take(*self._to_take)
        self._has_come = not status
        if status:
            if status != TAKE_FAILED:
                self._rcl.reset_error()
            return None
        message = self._message
        if message.buffer != self._address or message.capacity != self._capacity:
            self._look_at_buffer()
        return bytes(self._buffer[: message.length])

    def _look_at_buffer(self) -> None:
        """Have a view of the message's buffer, which moves when it grows."""
        self._address, self._capacity = self._message.buffer, self._message.capacity
        memory = (ctypes.c_char * self._capacity).from_address(self._address)
        self._buffer = memoryview(memory)

    def wait(self, timeout: float) -> None:
        """Sleep until there is a message, `wake` is called, or the time-out [s] is over."""
        if not self._is_told:
            # What came while it was arranged may not have been counted.
            self._has_come = self._be_told()
        if self._has_come or self._poll_fd.fd < 0:
            return
        self._time[0], self._time[1] = divmod(max(0, int(timeout * 1e9)), NANOSECONDS)
        self._poll(*self._to_poll)
        self._has_come = not self._read(*self._to_read)

    def wake(self) -> None:
        """End a wait from another thread."""
        self._rcl.write_count(self._counter, 1)

    def close(self) -> None:
        """Leave the subscription; to be called once."""
        pointer, counter = ctypes.c_void_p(self._pointer.value), self._counter.value
        self.wake()
        # First of all, so that no other thread can have messages counted again.
        self._pointer.value, self._counter.value, self._poll_fd.fd = None, -1, -1
        # No call of it is under way any more when this returns.
        self._rcl.set_callback(pointer, None, None)
        self._rcl.reset_error()
        os.close(counter)
