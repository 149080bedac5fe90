# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries in, the same kind out; nothing copied, nothing kept, nothing lost."""

from __future__ import annotations

import array
import ctypes
import mmap
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

from machine import Setting
from onnx_argmax import argmax
from onnx_argmax._element_types import ElementType
from oracle import Array, oracle_argmax, same_outcome
from samples import ALL_TYPES, from_bits, random_elements, type_id, type_named

every_type = pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)


@dataclass(frozen=True)
class Library:
    """An array library that may be installed."""

    module: str
    from_numpy: Callable[[ModuleType, Array], Any]
    element_types: frozenset[str]

    def load(self) -> ModuleType:
        reason = f"{self.module} is not installed"
        return pytest.importorskip(self.module, reason=reason)

    def make(self, values: Array) -> Any:
        """The library's array of the same elements."""
        return self.from_numpy(self.load(), values)

    def is_kind(self, found: Any) -> bool:
        return isinstance(found, type(self.make(np.zeros(1, np.float32))))


def _torch_from_numpy(torch: ModuleType, values: Array) -> Any:
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def _jax_from_numpy(jax: ModuleType, values: Array) -> Any:
    return jax.numpy.asarray(values)


def _strict_from_numpy(strict: ModuleType, values: Array) -> Any:
    return strict.asarray(values)


_EVERY: Final = frozenset(t.dtype_name for t in ALL_TYPES)
_WIDE: Final = frozenset({"int64", "uint64", "float64"})  # JAX has them with jax_enable_x64
LIBRARIES: Final = {
    "torch": Library("torch", _torch_from_numpy, _EVERY),
    "jax": Library("jax", _jax_from_numpy, _EVERY - _WIDE),
    "array_api_strict": Library(
        "array_api_strict", _strict_from_numpy, _EVERY - {"float16", "bfloat16"}
    ),
}
every_library = pytest.mark.parametrize("name", LIBRARIES)


@pytest.fixture
def torch() -> ModuleType:
    return LIBRARIES["torch"].load()


@pytest.fixture
def jax() -> ModuleType:
    return LIBRARIES["jax"].load()


# Every library.


@every_library
def test_same_kind_and_same_answer(name: str, setting: Setting) -> None:
    library = LIBRARIES[name]
    library.load()
    for element_type in ALL_TYPES:
        if element_type.dtype_name not in library.element_types:
            continue
        values = random_elements(element_type, (3, 70), 0)
        data = library.make(values)
        for axis, last in ((0, False), (1, True), (-1, False), (None, False)):
            found = argmax(data, axis, axis == 1, last)
            assert library.is_kind(found)
            expected = oracle_argmax(values, axis, axis == 1, last)
            assert found.shape == expected.shape, (str(setting), element_type)
            assert np.array_equal(np.asarray(found), expected), (str(setting), element_type)


@every_library
def test_result_types_of_a_library(name: str) -> None:
    library = LIBRARIES[name]
    module = library.load()
    namespace = module.numpy if name == "jax" else module
    data = library.make(np.array([[1, 3, 2]], np.float32))
    for dtype in ("int32", "uint8", "int16"):
        for given in (dtype, getattr(namespace, dtype)):
            found = argmax(data, 1, dtype=given)
            assert library.is_kind(found)
            assert found.dtype == getattr(namespace, dtype)
            assert np.asarray(found) == 1
    default = argmax(data, 1).dtype
    # JAX without jax_enable_x64 has no int64.
    assert str(default).rpartition(".")[2] == ("int32" if name == "jax" else "int64")


@every_library
def test_empty_arrays_of_a_library(name: str) -> None:
    library = LIBRARIES[name]
    data = library.make(np.zeros((2, 0, 3), np.float32))
    assert argmax(data, 0).shape == (1, 0, 3)
    assert argmax(data, 2, False).shape == (2, 0)
    with pytest.raises(ValueError, match="axis 1 of shape"):
        argmax(data, 1)


@every_library
def test_scalars_of_a_library(name: str) -> None:
    library = LIBRARIES[name]
    found = argmax(library.make(np.array(5.0, np.float32)))
    assert library.is_kind(found)
    assert found.shape == ()
    assert int(found) == 0


@every_library
def test_numpy_out_for_an_array_of_a_library(name: str) -> None:
    data = LIBRARIES[name].make(np.array([1, 3, 2], np.float32))
    out = np.zeros(1, np.int32)
    assert argmax(data, out=out) is out
    assert out == 1


def test_device_is_kept() -> None:
    strict = LIBRARIES["array_api_strict"].load()
    device = strict.Device("device1")
    found = argmax(strict.asarray([1.0, 3.0], device=device))
    assert found.device == device


# PyTorch.


@every_type
def test_torch_strides(torch: ModuleType, element_type: ElementType, setting: Setting) -> None:
    values = random_elements(element_type, (2, 5, 6, 7), 0)
    tensor = LIBRARIES["torch"].make(values)
    views = (
        lambda a: a.swapaxes(0, 3),
        lambda a: a[:, ::2, 1:, ::3],
        lambda a: a[1, :, 3],
        lambda a: a[:1, :, :1],
    )
    for view in views:
        for axis in range(view(values).ndim):
            expected = oracle_argmax(view(values), axis)
            assert np.array_equal(argmax(view(tensor), axis), expected), str(setting)
    channels_last = tensor.to(memory_format=torch.channels_last)
    expanded = tensor[:1].expand(3, 5, 6, 7)
    for axis in (0, 1, 3, None):
        assert np.array_equal(argmax(channels_last, axis), oracle_argmax(values, axis))
        repeated = np.broadcast_to(values[:1], (3, 5, 6, 7))
        assert np.array_equal(
            argmax(expanded, axis, False, True), oracle_argmax(repeated, axis, False, True)
        )


def test_torch_tensor_with_gradient(torch: ModuleType) -> None:
    for tensor in (
        torch.tensor([1.0, 3.0, 2.0], requires_grad=True),
        torch.nn.Parameter(torch.tensor([1.0, 3.0, 2.0])),
        torch.tensor([0.5, 1.5, 1.0], requires_grad=True) * 2,
    ):
        found = argmax(tensor)
        assert isinstance(found, torch.Tensor)
        assert not found.requires_grad
        assert found == 1


def test_torch_out(torch: ModuleType) -> None:
    tensor = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
    for dtype in (torch.int64, torch.int32, torch.uint8):
        out = torch.zeros(2, 2, dtype=dtype)[:, 1]
        assert argmax(tensor, 0, False, out=out) is out
        assert out.tolist() == [1, 0]
    wrong = torch.full((2,), -7.0)
    with pytest.raises(TypeError, match="out: an index has one of the types"):
        argmax(tensor, 0, False, out=wrong)
    assert wrong.tolist() == [-7, -7]
    with pytest.raises(ValueError, match="out: its shape is"):
        argmax(tensor, 0, True, out=torch.zeros(2, dtype=torch.int64))
    integers = torch.tensor([[1, 3], [2, 0]])
    with pytest.raises(ValueError, match=r"^out: .*overlaps? .*data"):
        argmax(integers, 0, False, out=integers[0])


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "complex64", "complex128"])
def test_torch_types_outside_the_contract(torch: ModuleType, dtype: str) -> None:
    with pytest.raises(TypeError, match=f"^data: element type {dtype} is not supported; allowed"):
        argmax(torch.zeros(3, dtype=getattr(torch, dtype)))


def test_torch_tensors_without_memory_to_read(torch: ModuleType) -> None:
    """Sparse, on no device, or negated lazily: refused, never read as what they are not."""
    lazily_negated = torch.tensor([1 + 1j, 2 - 3j, 1 + 5j]).conj().imag
    assert lazily_negated.is_neg()
    for tensor in (torch.eye(3).to_sparse(), torch.empty(3, device="meta"), lazily_negated):
        with pytest.raises(TypeError, match=r"^data: "):
            argmax(tensor)


# JAX.


def test_jax_result_is_on_the_same_kind_of_memory(jax: ModuleType) -> None:
    data = jax.numpy.asarray([1.0, 3.0, 2.0])
    found = argmax(data)
    assert found.devices() == data.devices()


def test_jax_arrays_are_no_out(jax: ModuleType) -> None:
    out = jax.numpy.zeros(1, np.int32)
    with pytest.raises((TypeError, ValueError), match=r"^out: "):
        argmax(np.arange(3), out=out)
    assert out == 0


def test_jax_traced_arrays_are_refused(jax: ModuleType) -> None:
    with pytest.raises(TypeError):
        jax.jit(argmax)(jax.numpy.arange(3))


def test_jax_index_that_its_integers_cannot_hold(jax: ModuleType) -> None:
    """Without jax_enable_x64 an index above 2**31 - 1 would wrap."""
    data = jax.numpy.zeros(3, np.float32)
    from onnx_argmax._arrays import source

    restore = source(data).restore
    assert restore(np.array([2**31 - 1])).dtype == np.int32
    with pytest.raises(ValueError, match=r"^data: an index above 2147483647 .*jax_enable_x64"):
        restore(np.array([2**31]))


# NumPy: bfloat16's disguises, scalars, subclasses, read-only arrays, memory maps.


def test_bfloat16_disguises() -> None:
    values = np.array([1.0, np.nan, 3.0], ml_dtypes.bfloat16)
    structured = values.view(np.dtype((np.uint16, {"bfloat16": (np.uint16, 0)})))
    assert argmax(values) == 1
    assert argmax(structured) == 1
    # A plain uint16 array stays what it is, so that the bits of -1.0 are larger than those of 1.
    assert argmax(np.array([1.0, -1.0], ml_dtypes.bfloat16)) == 0
    assert argmax(np.array([1.0, -1.0], ml_dtypes.bfloat16).view(np.uint16)) == 1


@pytest.mark.parametrize(
    "dtype", ["float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float8_e8m0fnu"]
)
def test_ml_dtypes_outside_the_contract(dtype: str) -> None:
    with pytest.raises(TypeError, match=f"^data: element type {dtype} is not supported; allowed"):
        argmax(np.zeros(3, getattr(ml_dtypes, dtype)))


@every_type
def test_numpy_scalars(element_type: ElementType) -> None:
    scalar = from_bits(element_type, [1])[0]
    assert isinstance(scalar, np.generic)
    assert same_outcome(argmax(scalar), np.zeros((), np.int64))


def test_numpy_subclasses_give_plain_arrays() -> None:
    matrix = np.arange(6).reshape(2, 3).view(np.matrix)
    found = argmax(matrix, 1, False)
    assert type(found) is np.ndarray
    assert same_outcome(found, np.array([2, 2]))
    assert type(argmax(np.arange(3).view(np.recarray))) is np.ndarray


@every_type
def test_read_only(element_type: ElementType) -> None:
    values = random_elements(element_type, (4, 50), 0)
    values.flags.writeable = False
    assert same_outcome(argmax(values, 1), oracle_argmax(values, 1))


@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("dtype", [">f4", "<f4", ">i2", "u1", ">u8"])
def test_memory_maps(tmp_path: Path, dtype: str, offset: int) -> None:
    values = np.arange(200).reshape(4, 50)[:, ::-1].astype(dtype)
    path = tmp_path / "data"
    path.write_bytes(bytes(offset) + values.tobytes())
    for mode in ("r", "r+", "c"):
        mapped = np.memmap(path, dtype, mode, offset, (4, 50))
        found = argmax(mapped, 1)
        assert type(found) is np.ndarray
        assert same_outcome(found, np.zeros((4, 1), np.int64))
        assert same_outcome(argmax(mapped, 0), np.full((1, 50), 3))
        del mapped
    assert path.read_bytes() == bytes(offset) + values.tobytes()


# The buffer protocol, __array__ and DLPack by themselves.


@pytest.mark.parametrize(
    "data",
    [
        b"\1\3\2",
        bytearray(b"\1\3\2"),
        memoryview(b"\1\3\2"),
        memoryview(b"\2\3\1")[::-1],
        memoryview(b"\1\0\3\0\2\0")[::2],
        memoryview(b"\1\3\2").toreadonly(),
        np.frombuffer(b"\1\3\2", np.uint8),
        *(array.array(code, [1, 3, 2]) for code in "bBhHiIlLqQfd"),
        (ctypes.c_float * 3)(1, 3, 2),
        (ctypes.c_int16.__ctype_be__ * 3)(1, 3, 2),
    ],
    ids=lambda data: type(data).__name__,
)
def test_buffers(data: Any) -> None:
    found = argmax(data)
    assert type(found) is np.ndarray
    assert same_outcome(found, np.array([1]))


def test_buffer_of_several_dimensions() -> None:
    view = memoryview(bytes(range(12))).cast("B", (3, 4))
    assert same_outcome(argmax(view, 1), np.full((3, 1), 3))


def test_mmap_object() -> None:
    with mmap.mmap(-1, 5000) as mapped:
        mapped[4321] = 1
        assert argmax(mapped, 0, False) == 4321


class Arraylike:
    """Has ``__array__`` and nothing else."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        assert dtype is None
        assert not copy
        return self._values


class Exporter:
    """Speaks DLPack and nothing else; counts what it gave away."""

    def __init__(self, values: Array, device: tuple[int, int] = (1, 0)) -> None:
        self._values = values
        self._device = device
        self.exports = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, **options: Any) -> Any:
        assert not options.get("copy")
        self.exports += 1
        return self._values.__dlpack__(**options)


class OldExporter(Exporter):
    """DLPack before version 1: no ``max_version``, no ``copy``."""

    def __dlpack__(self, stream: Any = None) -> Any:
        assert stream is None
        return self._values.__dlpack__()


def test_array_protocol(setting: Setting) -> None:
    values = random_elements(type_named("bfloat16"), (3, 40), 0)[:, ::-2]
    found = argmax(Arraylike(values), 1)
    assert type(found) is np.ndarray
    assert same_outcome(found, oracle_argmax(values, 1)), str(setting)


@pytest.mark.parametrize("exporter", [Exporter, OldExporter])
def test_dlpack(exporter: type[Exporter], setting: Setting) -> None:
    for element_type in ALL_TYPES:
        if element_type.dtype_name == "bfloat16":  # NumPy exports it to nobody
            continue
        values = random_elements(element_type, (3, 8, 5), 0)
        for view in (values, values.T, values[::-1, ::2], values[:0], values[0, 0, 0:1]):
            found = argmax(exporter(view), -1)
            assert type(found) is np.ndarray
            assert same_outcome(found, oracle_argmax(view, -1)), str(setting)


def test_dlpack_is_asked_once_and_keeps_nothing() -> None:
    values = np.arange(5.0)
    exporter = Exporter(values)
    before = sys.getrefcount(values)
    assert argmax(exporter) == 4
    assert exporter.exports == 1
    with pytest.raises(ValueError, match=r"^axis 3"):
        argmax(exporter, 3)
    del exporter
    assert sys.getrefcount(values) <= before


def test_buffers_are_released() -> None:
    data = bytearray(b"\1\3\2")
    assert argmax(data) == 1
    data.append(9)  # a BufferError while somebody holds the buffer
    with pytest.raises(ValueError, match=r"^axis 3"):
        argmax(data, 3)
    assert argmax(data) == 3


def test_read_only_through_dlpack() -> None:
    values = np.arange(5.0)
    values.flags.writeable = False
    assert argmax(Exporter(values)) == 4


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ((2, 0), r"CUDA, number 0"),
        ((2, 3), r"CUDA, number 3"),
        ((8, 0), r"Metal, number 0"),
        ((10, 1), r"ROCm, number 1"),
        ((99, 0), r"DLPack type 99, number 0"),
    ],
)
def test_arrays_on_a_device(device: tuple[int, int], words: str) -> None:
    exporter = Exporter(np.arange(3.0), device)
    for argument, call in (
        ("data", lambda: argmax(exporter)),
        ("out", lambda: argmax(np.arange(3.0), out=exporter)),
    ):
        with pytest.raises(
            TypeError,
            match=rf"^{argument}: the array lies on a device \({words}\); "
            r"only arrays in the CPU's memory are read: copy it there first",
        ):
            call()
    assert exporter.exports == 0


@pytest.mark.parametrize("device", [(1, 0), (3, 0), (11, 0)], ids=str)
def test_memory_that_the_cpu_addresses(device: tuple[int, int]) -> None:
    """Page-locked memory of a graphics library is the CPU's own."""
    assert argmax(Exporter(np.array([1, 3, 2]), device)) == 1


class Refusing:
    """An exporter that cannot export, and says so as the protocol asks."""

    dtype = "some.package.decimal7"

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no such memory")


def test_exporter_that_refuses() -> None:
    with pytest.raises(TypeError, match=r"^data: .*decimal7.*no such memory") as caught:
        argmax(Refusing())
    assert isinstance(caught.value.__cause__, BufferError)
    with pytest.raises(TypeError, match=r"^out: .*no such memory"):
        argmax(np.arange(3), out=Refusing())
