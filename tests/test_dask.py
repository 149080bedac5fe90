# SPDX-License-Identifier: Apache-2.0
"""Dask arrays: lazily, whatever the chunks, the tree and the scheduler."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import threading
import types
import weakref
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnx_argmax
from layouts import byte_swapped
from onnx_argmax.dask import argmax
from oracle import Array, fast_argmax, oracle_argmax
from programs import run_program
from samples import ALL_TYPES, random_elements, type_id
from strategies import arrays


@pytest.fixture(autouse=True)
def _synchronous() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def _refuse(*arguments: Any, **options: Any) -> None:
    raise AssertionError("something was computed")


def _same(result: Any, expected: Array) -> None:
    assert isinstance(result, da.Array)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    computed = np.asarray(result.compute())
    assert computed.dtype == expected.dtype
    assert np.array_equal(computed, expected)


@pytest.mark.parametrize("element_type", ALL_TYPES, ids=type_id)
@pytest.mark.parametrize("swapped", [False, True], ids=["native", "swapped"])
def test_every_type_and_axis(element_type: Any, swapped: bool) -> None:
    data = random_elements(element_type, (4, 5, 3), seed=1)
    if swapped:
        data = byte_swapped(data)
    chunked = da.from_array(data, chunks=(2, 2, 2))
    for axis, keepdims, last in itertools.product((0, 1, -1, None), (0, 1), (0, 1)):
        expected = oracle_argmax(data, axis, bool(keepdims), bool(last))
        _same(argmax(chunked, axis, keepdims, last), expected)


def _cuts(length: int) -> list[tuple[int, ...]]:
    """Every way to cut a length into parts."""
    places = [
        (0, *inner, length)
        for n in range(length)
        for inner in itertools.combinations(range(1, length), n)
    ]
    return [tuple(b - a for a, b in itertools.pairwise(ends)) for ends in places]


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_chunks_of_every_shape_in_three_dimensions(axis: int | None) -> None:
    data = np.random.default_rng(0).integers(0, 3, (2, 3, 4))
    options = list(itertools.product((False, True), (False, True)))
    expected = [oracle_argmax(data, axis, *option) for option in options]
    shapes = list(itertools.product(*map(_cuts, data.shape)))
    assert len(shapes) == 2 * 4 * 8
    for chunks in shapes:
        chunked = da.from_array(data, chunks=chunks)
        results = dask.compute(*[argmax(chunked, axis, *option) for option in options])
        for result, right in zip(results, expected, strict=True):
            assert result.shape == right.shape, chunks
            assert np.array_equal(result, right), chunks


@pytest.mark.parametrize("axis", [0, None])
def test_indices_beyond_what_four_bytes_number(axis: int | None) -> None:
    before = np.broadcast_to(np.uint8(1), (2**31,))  # one byte of memory
    graph = {("long", 0): (lambda: before,), ("long", 1): (lambda: np.array([1, 2, 2], "u1"),)}
    chunked = da.Array(graph, "long", ((2**31, 3),), dtype=np.uint8)
    assert argmax(chunked, axis, False).compute() == 2**31 + 1
    assert argmax(chunked, axis, False, True).compute() == 2**31 + 2


@st.composite
def _chunked(draw: st.DrawFn) -> tuple[Array, Any]:
    data = draw(arrays())
    sizes: list[tuple[int, ...]] = []
    for length in data.shape:
        cuts = sorted(draw(st.lists(st.integers(0, length), max_size=3)))
        sizes.append(tuple(b - a for a, b in itertools.pairwise([0, *cuts, length])))
    if 0 in data.shape:  # Dask itself has one chunk there
        return data, da.from_array(data, chunks=-1)
    boxes = da.from_array(data, chunks=-1)
    return data, boxes.rechunk(tuple(sizes)) if all(map(all, sizes)) else _joined(data, sizes)


def _joined(data: Array, sizes: list[tuple[int, ...]]) -> Any:
    """An array with empty chunks, which ``rechunk`` leaves out."""
    starts = [list(itertools.accumulate(part, initial=0)) for part in sizes]
    name = f"pieces-{dask.base.tokenize(data.tobytes(), sizes)}"
    graph = {}
    for block in itertools.product(*[range(len(part)) for part in sizes]):
        box = tuple(slice(first[i], first[i + 1]) for first, i in zip(starts, block, strict=True))
        graph[(name, *block)] = data[(*box, ...)]
    return da.Array(graph, name, chunks=tuple(sizes), dtype=data.dtype)


@given(st.data())
def test_any_chunks_and_any_tree(drawn: st.DataObject) -> None:
    data, chunked = drawn.draw(_chunked())
    axis = drawn.draw(st.sampled_from([None, *range(max(data.ndim, 1))]))
    keepdims, last = drawn.draw(st.booleans()), drawn.draw(st.booleans())
    split_every = drawn.draw(st.integers(2, 5))

    def ours() -> Any:
        return argmax(chunked, axis, keepdims, last, split_every=split_every)

    reduced = data.shape if axis is None else data.shape[axis : axis + 1]
    if 0 in reduced:
        with pytest.raises(ValueError, match="length 0"):
            ours()
    elif data.size == 0:
        _same(ours(), np.empty(onnx_argmax.argmax(data, axis, keepdims).shape, np.int64))
    else:
        _same(ours(), fast_argmax(data, axis, keepdims, last))


def test_flattened_ties_follow_the_array_not_its_chunks() -> None:
    """Dask's own takes the first in the order of chunks."""
    data = np.array([[0, 0, 0, 7], [7, 0, 0, 0]])
    chunked = da.from_array(data, chunks=(2, 2))
    assert da.argmax(chunked).compute() == 4
    assert argmax(chunked, None, keepdims=False).compute() == 3 == np.argmax(data)
    assert argmax(chunked, None, False, select_last_index=True).compute() == 4


def test_chunks_of_the_result() -> None:
    chunked = da.ones((6, 4, 5), chunks=((1, 5), (2, 2), (5,)))
    assert argmax(chunked, 0).chunks == ((1,), (2, 2), (5,))
    assert argmax(chunked, 1, keepdims=False).chunks == ((1, 5), (5,))
    assert argmax(chunked, None).chunks == ((1,), (1,), (1,))
    assert argmax(chunked, None, keepdims=False).chunks == ()


def test_nothing_is_computed_as_the_graph_is_built() -> None:
    blocks = da.map_blocks(_refuse, dtype=np.float32, chunks=((2, 2), (3, 3)))
    with dask.config.set(scheduler=_refuse):
        for axis in (0, 1, None):
            argmax(blocks, axis)
            onnx_argmax.argmax(blocks, axis)


def test_keys_are_those_of_the_input_and_the_arguments() -> None:
    def chunked() -> Any:
        return da.from_array(np.arange(12.0).reshape(3, 4), chunks=2)

    calls: list[dict[str, Any]] = [
        {},
        {"axis": 1},
        {"axis": None},
        {"keepdims": False},
        {"select_last_index": True},
        {"dtype": "int32"},
        {"split_every": 2},
        {"threads": 2},
    ]
    names = [argmax(chunked(), **call).name for call in calls]
    assert names == [argmax(chunked(), **call).name for call in calls]
    assert len(set(names)) == len(names)
    assert argmax(chunked() + 1).name not in names


def test_keys_are_the_same_in_another_process() -> None:
    chunked = da.from_array(np.arange(12.0).reshape(3, 4), chunks=2, name="data")
    printed = run_program(
        """
        import dask.array as da
        import numpy as np
        from onnx_argmax.dask import argmax

        data = np.arange(12.0).reshape(3, 4)
        print(argmax(da.from_array(data, chunks=2, name="data"), 1).name)
        """
    )
    assert printed.stdout.strip() == argmax(chunked, 1).name


@pytest.mark.parametrize("pickler", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_it_can_be_pickled(pickler: Any) -> None:
    data = np.arange(12.0).reshape(3, 4)
    result = pickle.loads(pickler.dumps(argmax(da.from_array(data, chunks=2), 1)))
    _same(result, fast_argmax(data, 1))


def test_a_graph_names_only_what_every_worker_has() -> None:
    pickled = pickle.dumps(dict(argmax(da.ones((4, 4), chunks=2), 0).dask))
    lacking = run_program(
        f"""
        import pickle, sys

        sys.modules["onnx_argmax"] = None
        assert len(pickle.loads({pickled!r})) > 4
        """
    )
    assert not lacking.stderr


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_schedulers(scheduler: str) -> None:
    data = np.random.default_rng(0).integers(0, 5, (20, 30))
    for axis in (0, None):
        result = argmax(da.from_array(data, chunks=7), axis).compute(
            scheduler=scheduler, num_workers=2
        )
        assert np.array_equal(result, fast_argmax(data, axis))


def test_tasks_for_each_chunk() -> None:
    chunked = da.ones((64, 8), chunks=(1, 8))
    (result,) = dask.optimize(argmax(chunked, 0))
    merges = 16 + 4 + 1
    assert len(dict(result.__dask_graph__())) == 64 + 64 + merges
    (whole,) = dask.optimize(argmax(chunked, 1))
    assert len(dict(whole.__dask_graph__())) == 64 + 64
    assert len(argmax(chunked, 1).dask) == len(chunked.dask) + 64  # and no partial results


def test_only_what_is_asked_for_is_computed() -> None:
    made: list[tuple[int, ...]] = []

    def block(block_id: tuple[int, ...]) -> Array:
        made.append(block_id)
        return np.full((2, 2), sum(block_id))

    blocks = da.map_blocks(block, meta=np.empty((0, 0), np.int64), chunks=((2,) * 3, (2,) * 4))
    assert argmax(blocks, 0)[0, 5].compute() == 4
    assert sorted(made) == [(0, 2), (1, 2), (2, 2)]


def test_keys_that_look_like_what_tasks_hold() -> None:
    """Dask takes any value of a task for a key, where a task of that name exists."""
    names = [0, 1, 2, "axis", "merged", "result_of_block", "partials_of_block", "int64", "0.1.0"]
    graph: dict[Any, Any] = dict.fromkeys(names, "not this")
    graph |= {("data", i): np.array([i, 9 - i]) for i in range(9)}
    data = da.Array(graph, "data", ((2,) * 9,), dtype=np.int64)
    assert argmax(data, 0, keepdims=False).compute() == 1
    assert argmax(data[:2], 0, keepdims=False).compute() == 1


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("together", [False, True])
def test_few_chunks_are_held_at_once(together: bool, axis: int) -> None:
    alive: set[int] = set()
    most = [0]
    lock = threading.Lock()

    def made(block_id: tuple[int, ...]) -> Array:
        array = np.full((1, 50), block_id[0], np.float32)
        with lock:
            alive.add(id(array))
            most[0] = max(most[0], len(alive))
        weakref.finalize(array, alive.discard, id(array))
        return array

    blocks = da.map_blocks(made, dtype=np.float32, chunks=((1,) * 200, (50,)))
    asked = [argmax(blocks, axis, False), *([blocks.max(axis)] if together else [])]
    index, *largest = dask.compute(*asked, scheduler="threads", num_workers=4)
    assert np.array_equal(index, np.full(50, 199) if axis == 0 else np.zeros(200))
    for values in largest:
        assert np.array_equal(values, np.full(50, 199) if axis == 0 else np.arange(200))
    assert most[0] <= 20  # of 200, by 4 threads


def test_narrow_results_and_threads() -> None:
    data = np.random.default_rng(0).random((200, 300))
    chunked = da.from_array(data, chunks=100)
    _same(argmax(chunked, 0, dtype=np.uint8), fast_argmax(data, 0).astype(np.uint8))
    _same(argmax(chunked, 1, dtype="int16", threads=3), fast_argmax(data, 1).astype(np.int16))
    with pytest.raises(ValueError, match=r"dtype: uint8 numbers at most 256 .* has 300"):
        argmax(chunked, 1, dtype=np.uint8)


def test_a_task_starts_no_threads_unless_it_is_told_to() -> None:
    run_program(
        """
        import os
        import dask.array as da
        import onnx_argmax
        from onnx_argmax import _native

        _native.set_grain_bytes(1)  # any work is worth another thread
        onnx_argmax.set_num_threads(5)
        data = da.ones((64, 1000), chunks=(8, 500))
        threads = lambda: len(os.listdir("/proc/self/task"))
        before = threads()
        for axis in (0, 1, None):
            onnx_argmax.argmax(data, axis).compute(scheduler="synchronous")
        assert threads() == before
        onnx_argmax.argmax(data, 0, threads=3).compute(scheduler="synchronous")
        assert threads() == before + 2
        """
    )


def test_dask_says_how_many_are_merged() -> None:
    chunked = da.ones(9, chunks=1)
    with dask.config.set(split_every=3):
        result = argmax(chunked)
    assert result.name == argmax(chunked, split_every=3).name != argmax(chunked).name
    with (
        dask.config.set(split_every={0: 3}),
        pytest.raises(
            TypeError,
            match=r"Dask's setting split_every: an integer .* \{0: 3\}.*pass split_every=4",
        ),
    ):
        argmax(chunked)
    with dask.config.set(split_every={0: 3}):
        assert argmax(chunked, split_every=3).name == result.name


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"axis": 2}, np.exceptions.AxisError, "axis 2 is out of range"),
        ({"axis": (0, 1)}, TypeError, "one integer is needed"),
        ({"axis": True}, TypeError, "one integer is needed"),
        ({"keepdims": "yes"}, TypeError, "keepdims"),
        ({"dtype": float}, TypeError, "dtype: an index has one of the types"),
        ({"split_every": 1}, ValueError, "split_every: at least 2 is needed, got 1"),
        ({"split_every": 2.0}, TypeError, "split_every: an integer is needed"),
        ({"threads": 0}, ValueError, "threads: at least 1 is needed"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        argmax(da.ones((2, 3), chunks=1), **options)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 0), {"axis": 1}),
        ((2, 0), {"axis": None}),
        ((0, 0), {"axis": 0}),
        ((2, 3), {"axis": -3}),
        ((), {"axis": 1}),
        ((2, 3), {"axis": 1.0}),
        ((2, 3), {"select_last_index": "no"}),
        ((2, 300), {"axis": 1, "dtype": "uint8"}),
    ],
    ids=str,
)
def test_words_of_the_array_function(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    data = np.ones(shape)
    with pytest.raises((TypeError, ValueError)) as expected:
        onnx_argmax.argmax(data, **options)
    with pytest.raises(expected.type) as refused:
        argmax(da.from_array(data), **options)
    assert str(refused.value) == str(expected.value)


def test_what_is_no_array_of_ours() -> None:
    with pytest.raises(TypeError, match=r"a Dask array is needed, got ndarray.*from_array"):
        argmax(np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="complex128 is not supported"):
        argmax(da.ones(3, dtype=complex))
    masked = da.ma.masked_array(da.ones(3), [False, True, False])
    with pytest.raises(TypeError, match=r"MaskedArray.*dask\.array\.ma\.filled"):
        argmax(masked)
    foreign = da.Array({("odd", 0): None}, "odd", ((3,),), meta=_Foreign())
    with pytest.raises(TypeError, match=r"blocks are cupy\.Foreign.*map_blocks\(cupy\.asnumpy\)"):
        argmax(foreign)
    with pytest.raises(ValueError, match="length 0"):
        argmax(da.ones((2, 0)), 1)


class _Foreign:
    """Looks like an array of a library for devices."""

    __module__ = "cupy"
    __qualname__ = "Foreign"
    shape, ndim, dtype = (0,), 1, np.dtype(np.float32)

    def __array_function__(self, *arguments: Any) -> Any:
        raise AssertionError("it was computed with")

    def __getitem__(self, item: Any) -> Any:
        return self


def test_query_planning_is_refused() -> None:
    run_program(
        """
        import dask
        dask.config.set({"array.query-planning": True})
        try:
            import dask.array as da
        except ImportError:  # before Dask 2025.1 that was another package
            raise SystemExit
        from onnx_argmax import argmax
        try:
            argmax(da.ones(3))
        except TypeError as error:
            assert "query planning" in str(error) and "False" in str(error), error
        else:
            raise AssertionError("taken")
        """
    )


def test_unknown_chunk_sizes() -> None:
    data = da.from_array(np.arange(10), chunks=5)
    some = data[data > 3]
    with pytest.raises(ValueError, match=r"not known.*call data\.compute_chunk_sizes\(\) first"):
        argmax(some)
    assert math.isnan(some.shape[0])
    _same(argmax(some.compute_chunk_sizes()), np.array([5]))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (np.zeros((2, 3), np.float64), r"block \(\d, 0\) has shape \(2, 3\) and type float64"),
        (np.zeros((2, 2), np.float32), r"declares \(2, 3\) and float32"),
        (np.ma.zeros((2, 3), np.float32), r"block \(\d, 0\) is a numpy\.ma"),
        ([[1, 2, 3]] * 2, r"is a builtins\.list"),
    ],
    ids=["type", "shape", "mask", "list"],
)
def test_a_block_that_is_not_what_was_declared(block: Any, words: str) -> None:
    graph = {("odd", 0, 0): (lambda: block,), ("odd", 1, 0): (lambda: block,)}
    odd = da.Array(graph, "odd", chunks=((2, 2), (3,)), dtype=np.float32)
    with pytest.raises((TypeError, ValueError), match=words):
        argmax(odd).compute()


def test_blocks_in_other_forms_of_what_was_declared() -> None:
    whole = da.from_array(np.float32(3.0)[()], chunks=()) + 0
    assert isinstance(whole.compute(), np.float32)  # a scalar in place of an array of rank 0
    _same(argmax(whole), np.array(0))
    graph = {("odd", i): byte_swapped(np.array([i, 300.0])) for i in range(2)}
    swapped = da.Array(graph, "odd", ((2, 2),), dtype=np.float64)
    _same(argmax(swapped), np.array([1]))


def test_other_lazy_objects_are_not_computed_unasked() -> None:
    lazy = dask.delayed(_refuse)()
    with pytest.raises(
        TypeError, match=r"this Delayed is lazy .* pass its values as a Dask array"
    ):
        onnx_argmax.argmax(lazy)


def test_the_array_function_takes_dask_arrays() -> None:
    data = np.random.default_rng(0).random((6, 4))
    chunked = da.from_array(data, chunks=(2, 2))
    _same(onnx_argmax.argmax(chunked, 1, keepdims=False), fast_argmax(data, 1, False))
    _same(onnx_argmax.argmax(chunked, dtype="int8", threads=2), fast_argmax(data).astype("i1"))
    with pytest.raises(TypeError, match=r"out: .* dask\.array\.store"):
        onnx_argmax.argmax(chunked, out=np.empty((1, 4), np.int64))


@pytest.mark.parametrize("module", ["dask.array", "numpy.ma"])
def test_another_thread_is_importing(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is there then, and its classes are not."""
    monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    data = byte_swapped(np.array([1.0, 3.0, 2.0]))
    assert onnx_argmax.argmax(data, keepdims=False) == 1


def test_xarray() -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = np.random.default_rng(0).random((19, 6, 8)).astype(np.float32)
    array = xarray.DataArray(data, dims=("class", "y", "x"))
    for given_array in (array, array.chunk({"class": 4, "y": 3})):
        with dask.config.set(scheduler=_refuse):
            labels = xarray.apply_ufunc(
                onnx_argmax.argmax,
                given_array,
                input_core_dims=[["class"]],
                kwargs={"axis": -1, "keepdims": False},
                dask="allowed",
            )
        assert labels.dims == ("y", "x")
        assert (labels.chunks is None) == (given_array.chunks is None)
        assert np.array_equal(labels.compute(), fast_argmax(data, 0, False))
    assert np.array_equal(onnx_argmax.argmax(array), fast_argmax(data))
    with pytest.raises(TypeError, match=r"xarray\.apply_ufunc\(onnx_argmax\.argmax"):
        onnx_argmax.argmax(array.chunk({"class": 4}))
