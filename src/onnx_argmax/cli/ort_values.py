# SPDX-License-Identifier: Apache-2.0
"""Values into ONNX Runtime and out of it, those of types that NumPy lacks included."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
import onnx
import onnx.helper
import onnxruntime

from onnx_argmax.cli.compare import is_array
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.operator import element_type_name

__all__ = ["run_session"]

_Result = TypeVar("_Result")

_AS_BITS: Final[dict[int, type[np.unsignedinteger[Any]]]] = {
    onnx.TensorProto.BFLOAT16: np.uint16,
    onnx.TensorProto.FLOAT8E4M3FN: np.uint8,
    onnx.TensorProto.FLOAT8E4M3FNUZ: np.uint8,
    onnx.TensorProto.FLOAT8E5M2: np.uint8,
    onnx.TensorProto.FLOAT8E5M2FNUZ: np.uint8,
}
"""Element types that ONNX Runtime has and NumPy lacks, with NumPy's of the same size."""
_FROM_OUTSIDE: Final = 2
"""What ``dtype.isbuiltin`` says of a type that another package adds to NumPy's own; it is 0 for
strings and for any type that was made by changing the byte order, back to the native one too."""
_NAMES: Final = {element_type_name(number): number for number in _AS_BITS}


def run_session(session: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a session by their names.

    Ctrl-C ends the run after the nodes that are being computed.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
        The session.
    inputs : dict of str to array
        By the inputs' names; ml_dtypes' arrays for what NumPy has no type for.

    Returns
    -------
    dict of str to array
        Arrays, ml_dtypes' ones too; lists for sequences, None for an absent optional.

    Raises
    ------
    CommandError
        For types that onnxruntime's Python package cannot take in or give out together.
    KeyboardInterrupt
        After Ctrl-C, once the run has ended.
    """
    feeds = {name: _feed(name, value) for name, value in inputs.items()}
    declared = {value.name: value.type for value in session.get_outputs()}
    names = list(declared)
    if not any(kind in _NAMES for kind in declared.values()):
        results = _interruptible(lambda options: session.run(names, feeds, options))
        return dict(zip(names, results, strict=True))
    # Only this way of running leaves such a tensor as it is, and it takes tensors alone.
    tensors = {name: _ort_value(name, feed) for name, feed in feeds.items()}
    values = _interruptible(lambda options: session.run_with_ort_values(names, tensors, options))
    return {name: _array(value) for name, value in zip(names, values, strict=True)}


def _interruptible(run: Callable[[Any], _Result]) -> _Result:
    """Run in a thread of its own, as Python sees to Ctrl-C only between two of its own steps."""
    options: Any = onnxruntime.RunOptions()
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            return pool.submit(run, options).result()
        except KeyboardInterrupt:
            options.terminate = True
            raise


def _feed(name: str, value: Any) -> Any:
    if not is_array(value):
        return value
    if value.dtype.isbuiltin != _FROM_OUTSIDE:
        # The package takes an array's memory as it lies.
        return value.astype(value.dtype.newbyteorder("="), copy=False)
    number = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    bits = _AS_BITS.get(number)
    if bits is None:
        raise CommandError(
            f"input {name!r}: onnxruntime's Python package takes no {element_type_name(number)}; "
            "use --runtime reference"
        )
    array = np.asarray(value, order="C")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(bits), number)


def _ort_value(name: str, feed: Any) -> Any:
    if isinstance(feed, onnxruntime.OrtValue):
        return feed
    if not is_array(feed) or feed.dtype.kind in "OSU":
        raise CommandError(
            f"input {name!r}: onnxruntime's Python package takes neither strings nor sequences "
            f"where an output is {' or '.join(_NAMES)}; use --runtime reference"
        )
    return onnxruntime.OrtValue.ortvalue_from_numpy(feed)


def _array(value: Any) -> Any:
    number = _NAMES.get(value.data_type())
    if number is None:
        return value.numpy()
    dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
    memory = (ctypes.c_char * value.tensor_size_in_bytes()).from_address(value.data_ptr())
    # Copied, as the memory is the value's.
    return np.frombuffer(memory, dtype).reshape(value.shape()).copy()
