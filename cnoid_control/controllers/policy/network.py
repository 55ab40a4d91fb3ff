"""A network in an ONNX file, run by onnxruntime in the thread that asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices, describe

if TYPE_CHECKING:
    from cnoid_control.controllers.policy.observation import Observation


class Network:
    """Inputs and outputs by name, in arrays that the network reads and writes in place.

    Write to `feed`, call `infer`, read `results`; or call it with all inputs.

    Attributes:
        file: the ONNX file.
        inputs: number of values of each input, by name, in the file's order.
        outputs: number of values of each output, by name, in the file's order.
        metadata: what the exporter has written beside the network.
        state: outputs that become inputs of the next call, by the input's name.
        feed: the inputs of the next call by name, flat.
        results: the outputs of the last call by name, flat; the next call overwrites them.
    """

    def __init__(self, file: Path) -> None:
        """Load the file; one thread, so that nothing of it competes with the loop.

        Raises:
            CnoidControlError: onnxruntime is missing, or the file is no network that it can run.
        """
        try:
            import onnxruntime
        except ImportError as error:
            raise CnoidControlError(
                'policies need onnxruntime: pip install cnoid_control[policy]'
            ) from error
        self.file = file
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(file), options, providers=['CPUExecutionProvider']
            )
        except Exception as error:
            raise CnoidControlError(
                f'{file} is no network that onnxruntime runs: {describe(error)}'
            ) from error
        self._types = {one.name: NUMPY_TYPES.get(one.type) for one in self._session.get_inputs()}
        for name, kind in self._types.items():
            if kind is None:
                raise CnoidControlError(f'{file}: input {name!r} is of a type that is not known')
        self._shapes = {one.name: _shape(one.shape) for one in self._session.get_inputs()}
        self.inputs = {name: _size(shape) for name, shape in self._shapes.items()}
        self.outputs = {one.name: _size(_shape(one.shape)) for one in self._session.get_outputs()}
        self._options = onnxruntime.RunOptions()
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        self.state: dict[str, str] = {}
        self._tensors = {
            name: np.zeros(shape, dtype=self._types[name]) for name, shape in self._shapes.items()
        }
        self.feed = {name: tensor.reshape(-1) for name, tensor in self._tensors.items()}
        self.results = {name: np.zeros(size) for name, size in self.outputs.items()}
        self._run = self._bind() or self._run_unbound

    def _bind(self) -> Callable[[], None] | None:
        """What runs the network on arrays that stay where they are; None where that cannot be.

        It runs once: what is slow the first time is not left to the first tick.
        """
        binding = self._session.io_binding()
        results: dict[str, np.ndarray] = {}
        for name, tensor in self._tensors.items():
            binding.bind_input(name, 'cpu', 0, tensor.dtype, tensor.shape, tensor.ctypes.data)
        for output in self._session.get_outputs():
            kind = NUMPY_TYPES.get(output.type)
            if kind is None:
                return None
            tensor = np.zeros(_shape(output.shape), dtype=kind)
            binding.bind_output(
                output.name, 'cpu', 0, tensor.dtype, tensor.shape, tensor.ctypes.data
            )
            results[output.name] = tensor.reshape(-1)
        run = self._runner(binding)
        try:
            run()
        except Exception:
            # Sizes that the file leaves open may be others: the arrays must be made anew.
            return None
        self.results = results
        return run

    def _runner(self, binding: Any) -> Callable[[], None]:
        """What runs a binding: onnxruntime's own object below its Python class where it is there.

        The class looks for what only graphics cards need, and without options of the run makes
        new ones: together that takes a tenth of the time of a walking policy's network.
        """
        inner: Any = getattr(self._session, '_sess', None)
        bound = getattr(binding, '_iobinding', None)
        if bound is not None and hasattr(inner, 'run_with_iobinding'):
            return partial(inner.run_with_iobinding, bound, self._options)
        return partial(self._session.run_with_iobinding, binding)

    def _run_unbound(self) -> None:
        names = list(self.outputs)
        for name, one in zip(names, self._session.run(names, self._tensors), strict=True):
            self.results[name] = np.asarray(one, dtype=float).reshape(-1)

    def carry(self, input_name: str, output_name: str) -> None:
        """Have an output of each call be an input of the next one, as recurrent networks want it.

        Raises:
            CnoidControlError: there is no such input or output, or their sizes differ.
        """
        self.demand('input', input_name, self.inputs)
        self.demand('output', output_name, self.outputs)
        if self.inputs[input_name] != self.outputs[output_name]:
            raise CnoidControlError(
                f'{self.file.name}: input {input_name!r} has {self.inputs[input_name]} values and '
                f'output {output_name!r} has {self.outputs[output_name]}: it cannot be carried'
            )
        self.state[input_name] = output_name

    def demand(self, kind: str, name: str, known: dict[str, int]) -> None:
        """Raise CnoidControlError where the network has no such input or output."""
        if name not in known:
            raise CnoidControlError(f'{self.file.name} has no {kind} {name!r}; {choices(known)}')

    def fit(self, name: str, observation: Observation) -> None:
        """Raise CnoidControlError where an observation has not the size of an input."""
        observation.demand_size(self.inputs[name], f'input {name!r}')

    def reset(self) -> None:
        """Forget the state."""
        for name in self.state:
            self.feed[name].fill(0)

    def __call__(self, **values: Any) -> dict[str, np.ndarray]:
        """Outputs as flat arrays, by name; the caller may keep them.

        Args:
            **values: the inputs by name, flat; state is carried by itself.

        Raises:
            CnoidControlError: the network fails.
        """
        for name, value in values.items():
            self.feed[name][:] = value
        self.infer()
        return {name: np.array(one, dtype=float) for name, one in self.results.items()}

    def infer(self) -> None:
        """Compute `results` from `feed`, and carry the state.

        Raises:
            CnoidControlError: the network fails.
        """
        try:
            self._run()
        except Exception as error:
            raise CnoidControlError(
                f'{self.file.name}: inference failed: {describe(error)}'
            ) from error
        if self.state:
            for name, source in self.state.items():
                self.feed[name][:] = self.results[source]


NUMPY_TYPES: dict[str, type] = {
    'tensor(float)': np.float32,
    'tensor(double)': np.float64,
    'tensor(int64)': np.int64,
    'tensor(int32)': np.int32,
}


def _shape(shape: list[Any]) -> tuple[int, ...]:
    """Shape with 1 where the file leaves a size open: the number of robots."""
    return tuple(size if isinstance(size, int) and size > 0 else 1 for size in shape)


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))
