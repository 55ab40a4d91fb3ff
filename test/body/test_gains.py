"""How default gains are computed."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from cnoid_control.body import load_body
from cnoid_control.body.gains import seen_inertias
from cnoid_control.share import shared_file


def test_no_thread_of_linear_algebra_is_awake_when_the_loop_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """BLAS's workers wait busily for 0.1 s after each piece, on a core that the loop needs."""
    threads = []

    def eigh(matrix):
        threads.extend(p['num_threads'] for p in threadpool_info() if p['user_api'] == 'blas')
        return original(matrix)

    original = np.linalg.eigh
    body = load_body(shared_file('urdf', 'sr1.urdf'))
    monkeypatch.setattr(np.linalg, 'eigh', eigh)
    with threadpool_limits(2, 'blas'):
        seen_inertias(body)
    assert threads
    assert set(threads) == {1}
