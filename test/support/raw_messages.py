"""Messages of a raw subscription, waited for."""

import time


def take(subscription, timeout=10.0):
    """Wait for a message and take it."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        data = subscription.take()
        if data is not None:
            return data
        subscription.wait(0.2)
    raise AssertionError('no message came')
