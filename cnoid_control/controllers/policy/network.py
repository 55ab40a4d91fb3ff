"""A network in an ONNX file, run by onnxruntime in the thread that asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices, describe


class Network:
    """Inputs and outputs by name; every output but those asked for as state is returned.

    Attributes:
        file: the ONNX file.
        inputs: number of values of each input, by name, in the file's order.
        outputs: number of values of each output, by name, in the file's order.
        metadata: what the exporter has written beside the network.
        state: outputs that become inputs of the next call, by the input's name.
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
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        self.state: dict[str, str] = {}
        self._names = list(self.outputs)
        self._feed = {
            name: np.zeros(shape, dtype=self._types[name]) for name, shape in self._shapes.items()
        }

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

    def reset(self) -> None:
        """Forget the state."""
        for name in self.state:
            self._feed[name].fill(0)

    def __call__(self, **values: Any) -> dict[str, np.ndarray]:
        """Outputs as flat arrays, by name.

        Args:
            **values: the inputs by name, flat; state is carried by itself.

        Raises:
            CnoidControlError: the network fails.
        """
        for name, value in values.items():
            self._feed[name].reshape(-1)[:] = value
        try:
            results = self._session.run(self._names, self._feed)
        except Exception as error:
            raise CnoidControlError(
                f'{self.file.name}: inference failed: {describe(error)}'
            ) from error
        outputs = {
            name: np.asarray(one, dtype=float).reshape(-1)
            for name, one in zip(self._names, results, strict=True)
        }
        for name, source in self.state.items():
            self._feed[name].reshape(-1)[:] = outputs[source]
        return outputs


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
