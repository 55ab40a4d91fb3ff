import numpy as np

from cnoid_control.bench import rows_body


def test_both_sides_run_the_same_kinematics(monkeypatch) -> None:
    """The body and the calls by hand find the same centre of mass."""
    bodies = []
    load = rows_body.load_body
    monkeypatch.setattr(
        rows_body, 'load_body', lambda path: bodies.append(load(path)) or bodies[0]
    )
    found = []
    by_hand = rows_body.pin.centerOfMass
    monkeypatch.setattr(
        rows_body.pin, 'centerOfMass', lambda *args: found.append(by_hand(*args).copy())
    )
    with rows_body.forward_kinematics() as (ours, reference):
        ours()
        reference()
    np.testing.assert_array_equal(found[-1], bodies[0].center_of_mass)
