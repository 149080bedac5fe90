# SPDX-License-Identifier: Apache-2.0
"""From the caller's array to what the core reads, and back to the caller's kind of array.

Nothing here copies the input. NumPy arrays go to the core by the buffer protocol (which says
strides of any sign and works for read-only and byte-swapped data); every other array by DLPack.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onnx_argmax import _native
from onnx_argmax._element_types import (
    ElementType,
    element_type_of_dtype,
    element_type_of_tensor_proto,
    names,
)

__all__ = ["Source", "is_dask_array", "source", "writable_view"]

# DLDeviceType of DLPack; what lies in memory that the CPU addresses directly can be read.
_HOST_DEVICES: Final = {1: "CPU", 3: "CUDA host", 11: "ROCm host"}
_DEVICE_NAMES: Final = {
    2: "CUDA",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    9: "VPI",
    10: "ROCm",
    12: "external",
    13: "CUDA managed",
    14: "oneAPI",
    15: "WebGPU",
    16: "Hexagon",
    17: "MAIA",
}

# What libraries raise when an array cannot be exported.
_EXPORT_ERRORS: Final = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Source:
    """An array as the core reads it."""

    memory: Any
    """Object with the buffer protocol, or a ``_native.Tensor``."""
    element_type: ElementType
    byte_swapped: bool
    shape: tuple[int, ...]
    restore: Callable[[np.ndarray[Any, Any]], Any]
    """Turns a NumPy result into the caller's kind of array, on the CPU, without a copy
    where that library allows it."""


def source(data: Any) -> Source:
    """Read ``data`` in place.

    Raises
    ------
    TypeError
        For an object that is no array, an array on a device, a masked or lazy array, and an
        element type outside the contract.
    """
    if isinstance(data, np.ndarray):
        return _numpy_source(data)
    _refuse_what_would_be_copied(data)
    if isinstance(data, (str, os.PathLike)):
        raise TypeError(
            f"data: an array is needed, got {type(data).__name__}; pass "
            "onnx_argmax.outofcore.argmax the path of a .npy, Zarr or HDF5 file, or this function "
            "numpy.load(path)"
        )
    if hasattr(data, "__dlpack__") and hasattr(data, "__dlpack_device__"):
        if isinstance(data, np.generic):
            return _numpy_source(np.asarray(data))
        return _dlpack_source(data)
    if hasattr(data, "__array__"):
        return _numpy_source(np.asarray(data))
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(
            f"data: an array is needed (DLPack on the CPU, the buffer protocol or __array__), "
            f"got {type(data).__name__}; pass numpy.asarray(data, dtype=...)"
        ) from None
    return _numpy_source(np.asarray(view))


def writable_view(out: Any) -> np.ndarray[Any, Any]:
    """NumPy view of the caller's ``out`` array.

    Raises
    ------
    TypeError
        When ``out`` is no array that can be written through.
    """
    if isinstance(out, np.ndarray):
        if _is_masked(out):
            raise TypeError(
                "out: a masked array is not taken; pass out.data and unmask it yourself"
            )
        return out.view(np.ndarray)
    if hasattr(out, "__dlpack__"):
        _check_device("out", out)
        _refuse_lazily_negated("out", out)
        try:
            return np.from_dlpack(out)
        except _EXPORT_ERRORS as error:
            raise TypeError(f"out: cannot be written through DLPack: {error}") from error
    raise TypeError(
        f"out: a NumPy array, or one that DLPack can write through, is needed, got "
        f"{type(out).__name__}; pass numpy.asarray(out) where that shares its memory"
    )


def _numpy_source(array: np.ndarray[Any, Any]) -> Source:
    if _is_masked(array):
        raise TypeError(
            "data: a masked array is not taken, its mask would be ignored; pass "
            "data.filled(value) with a value that cannot win, or data.data where nothing is masked"
        )
    dtype = array.dtype
    element_type = element_type_of_dtype(dtype)
    if element_type is None:
        raise TypeError(_unsupported(str(dtype), _next_step(dtype)))
    memory = array.view(np.ndarray)
    if element_type.dtype_name == "bfloat16":  # its dtype has no buffer format
        memory = memory.view(np.uint16)
    return Source(memory, element_type, not dtype.isnative, array.shape, _as_numpy)


def _dlpack_source(data: Any) -> Source:
    _check_device("data", data)
    if getattr(data, "requires_grad", False):
        data = data.detach()
    _refuse_lazily_negated("data", data)
    dtype_name = str(data.dtype).rpartition(".")[2] if hasattr(data, "dtype") else "unknown"
    try:
        tensor = _native.from_dlpack(_capsule(data))
    except _EXPORT_ERRORS as error:
        allowed = dtype_name in names().split(", ")
        raise TypeError(
            f"data: the array cannot be read through DLPack ({error}); pass a dense one"
            if allowed
            else _unsupported(dtype_name, f"DLPack says: {error}")
        ) from error
    element_type = element_type_of_tensor_proto(tensor.element_type)
    if element_type is None:
        raise TypeError(_unsupported(dtype_name, "cast to one of these"))
    return Source(tensor, element_type, False, tensor.shape, _restorer(data))


def _capsule(data: Any) -> Any:
    """DLPack 1.0 can say that memory is read-only; exporters older than it lack the argument."""
    try:
        return data.__dlpack__(max_version=(1, 1))
    except TypeError:
        return data.__dlpack__()


def _restorer(data: Any) -> Callable[[np.ndarray[Any, Any]], Any]:
    import array_api_compat

    try:
        namespace = array_api_compat.array_namespace(data)
    except TypeError:
        return _as_numpy

    def restore(result: np.ndarray[Any, Any]) -> Any:
        # JAX without jax_enable_x64 has no int64: its asarray gives int32.
        if array_api_compat.is_jax_array(data):
            _check_jax_index(result, namespace)
        return namespace.asarray(result, device=array_api_compat.device(data))

    return restore


def _check_jax_index(result: np.ndarray[Any, Any], namespace: Any) -> None:
    limit = int(namespace.iinfo(namespace.asarray(0).dtype).max)
    if result.size and int(result.max()) > limit:
        raise ValueError(
            f"data: an index above {limit} does not fit JAX's integers; "
            "set jax_enable_x64, or pass numpy.asarray(data)"
        )


def _as_numpy(result: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return result


def _check_device(argument: str, array: Any) -> None:
    try:
        device_type, device_id = map(int, array.__dlpack_device__())
    except _EXPORT_ERRORS as error:
        raise TypeError(f"{argument}: the array lies in no memory to read ({error})") from error
    if device_type not in _HOST_DEVICES:
        name = _DEVICE_NAMES.get(device_type, f"DLPack type {device_type}")
        raise TypeError(
            f"{argument}: the array lies on a device ({name}, number {device_id}); "
            "only arrays in the CPU's memory are read: copy it there first "
            "(data.cpu() in PyTorch, data.get() in CuPy, jax.device_get(data) in JAX)"
        )


def is_dask_array(data: Any) -> bool:
    """Whether this is an array of Dask, which is not imported for the question."""
    return _is_instance(data, "dask.array", "Array")


def _refuse_what_would_be_copied(data: Any) -> None:
    """What holds a graph of Dask has ``__array__`` too, which would compute all of it."""
    graph = getattr(type(data), "__dask_graph__", None)
    if graph is None or graph(data) is None:
        return
    library = type(data).__module__.partition(".")[0]
    if is_dask_array(data):
        next_step = "pass it to onnx_argmax.argmax, which reduces it lazily"
    elif library == "xarray":
        next_step = (
            "pass xarray.apply_ufunc(onnx_argmax.argmax, data, input_core_dims=[[dimension]], "
            "kwargs={'axis': -1, 'keepdims': False}, dask='allowed')"
        )
    else:
        next_step = (
            "pass its values as a Dask array, data.to_dask_array(lengths=True) for a table's"
        )
    raise TypeError(
        f"data: this {type(data).__name__} is lazy and would be computed whole; {next_step}, "
        "or data.compute()"
    )


def _is_masked(array: np.ndarray[Any, Any]) -> bool:
    # np.ma is imported when first asked for; asked for here, it would be by the first call, and
    # a fork at that moment would leave the import's lock held in the child.
    return _is_instance(array, "numpy.ma", "MaskedArray")


def _is_instance(array: Any, module: str, name: str) -> bool:
    # A module that another thread is importing at this moment may lack the class still; nobody
    # has an array of that class then.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(array, kind)


def _refuse_lazily_negated(argument: str, array: Any) -> None:
    """PyTorch exports the memory of such a tensor, without the sign."""
    if hasattr(array, "is_neg") and array.is_neg():
        raise TypeError(
            f"{argument}: the tensor is negated lazily, so its memory does not hold its elements; "
            f"pass {argument}.resolve_neg()"
        )


def _unsupported(dtype_name: str, next_step: str) -> str:
    return f"data: element type {dtype_name} is not supported; allowed are {names()}; {next_step}"


def _next_step(dtype: np.dtype[Any]) -> str:
    match dtype.kind:
        case "c":
            return "complex numbers have no order: pass abs(data), data.real or data.imag"
        case "M" | "m":
            return "pass data.view('int64') after dealing with NaT, which is its smallest value"
        case "O":
            return "convert the objects first: data.astype('float64') or another of these"
        case "S" | "U" | "T":
            return "strings have no numeric order: encode them as integers first"
        case "V" if dtype.itemsize == 2 and dtype.fields is None:
            return "if NumPy saved bfloat16 so: pass data.view(ml_dtypes.bfloat16)"
        case "f":
            return "pass data.astype('float64') if its rounding is acceptable"
        case _:
            return "convert to one of these with data.astype(...)"
