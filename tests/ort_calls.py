# SPDX-License-Identifier: Apache-2.0
"""What tests have done in a process with onnxruntime (``ort_process.py``)."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from oracle import Array

__all__ = [
    "answers",
    "claims",
    "claims_by_name",
    "cpu_answer",
    "in_threads",
    "old_runtime",
    "peak_growth",
    "providers",
    "stand_in_life",
]

_ONLY_FATAL: Final = 4
_NO_CPU: Final = "session.disable_cpu_ep_fallback"
_BFLOAT16: Final = 16


def _options(entries: Mapping[str, str] | None = None, intra_op_threads: int = 0) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    options.intra_op_num_threads = intra_op_threads
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    return options


def _session(model: bytes, options: Any = None, **provider: object) -> Any:
    from onnx_argmax.ort import InferenceSession

    return InferenceSession(model, _options() if options is None else options, **provider)


def _value(array: Array) -> Any:
    """bfloat16 is no dtype that onnxruntime knows."""
    import onnxruntime

    if array.dtype.name != "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = np.ascontiguousarray(array).reshape(array.shape).view(np.uint16)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _BFLOAT16)


def _run(session: Any, feeds: Mapping[str, Array]) -> Array:
    values = {name: _value(array) for name, array in feeds.items()}
    return session.run_with_ort_values(None, values)[0].numpy()


def answers(
    model: bytes,
    feeds: Sequence[Mapping[str, Array]],
    *,
    only_ours: bool = False,
    intra_op_threads: int = 0,
    **provider: object,
) -> list[Array]:
    """First output of each feed, by one session of ours.

    ``only_ours``: the session is refused if any node is left to the CPU provider.
    """
    options = _options({_NO_CPU: "1"} if only_ours else None, intra_op_threads)
    session = _session(model, options, **provider)
    return [_run(session, feed) for feed in feeds]


def cpu_answer(model: bytes, feed: Mapping[str, Array]) -> Array:
    """First output by onnxruntime alone."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, _options(), providers=["CPUExecutionProvider"])
    return _run(session, feed)


def in_threads(
    model: bytes, feeds: Sequence[Mapping[str, Array]], workers: int, rounds: int, **options: Any
) -> list[list[Array]]:
    """Outputs of many threads that all run every feed on one session at once."""
    session = _session(model, **options)
    found: list[list[Array]] = [[] for _ in range(workers)]
    ready = threading.Barrier(workers)

    def work(number: int) -> None:
        ready.wait()
        for turn in range(rounds * len(feeds)):
            found[number].append(_run(session, feeds[(turn + number) % len(feeds)]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def providers(model: bytes, **provider: object) -> list[str]:
    """The providers of a session of ours, in order."""
    return list(_session(model, **provider).get_providers())


def claims(model: object) -> list[tuple[str, str, bool, str]]:
    """``claimed_nodes``, as plain tuples."""
    from onnx_argmax.ort import claimed_nodes

    return [(c.name, c.graph, c.claimed, c.reason) for c in claimed_nodes(model)]


def claims_by_name(model: object) -> list[tuple[str, str, bool, str]]:
    """``claims`` of a runtime whose optimised model does not tell which node is which."""
    from unittest import mock

    from onnx_argmax import _ort_marks

    with mock.patch.object(_ort_marks, "_described", return_value={}):
        return claims(model)


def peak_growth(model: bytes, shape: tuple[int, ...]) -> tuple[int, Array]:
    """By how many bytes a run raises the process's peak, the input being there before."""
    session = _session(model)
    data = np.ones(shape, np.float32)
    _run(session, {"data": np.ones((1,) * len(shape), np.float32)})
    before = _peak_bytes()
    found = _run(session, {"data": data})
    return _peak_bytes() - before, found


def _peak_bytes() -> int:
    # Not getrusage's, which begins with the peak of the process that started this one.
    status = Path("/proc/self/status").read_text("ascii")
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.M)
    return int(kibibytes) * 1024


def stand_in_life(
    library: str,
    node: Any,
    tensors: list[Any],
    faults: Any = None,
    options: dict[bytes, bytes] | None = None,
) -> Any:
    """``life_of_a_node`` with the outcomes and what the stand-in saw of it."""
    import sys

    from ort_stand_in import Faults, StandIn, life_of_a_node, load

    stand_in = StandIn(node, faults or Faults(), options or {})
    errors: list[Any] = []
    before, sys.unraisablehook = sys.unraisablehook, errors.append
    try:
        outcomes = life_of_a_node(load(library), stand_in, tensors)
    finally:
        sys.unraisablehook = before
    assert not errors, [error.exc_value for error in errors]
    seen = {
        "slots": stand_in.slots,
        "live": sorted(stand_in.live.values()),
        "log": stand_in.log,
        "definitions": stand_in.definitions,
        "added_nodes": stand_in.added_nodes,
        "parallel": stand_in.parallel,
    }
    return outcomes, seen


def old_runtime(library: str, *, newest: int, version: bytes | None, hole: str = "") -> str | None:
    """Words of the status that a runtime with tables up to a version gets; None for none.

    ``hole`` is what it lacks besides.
    """
    import ctypes

    from ort_stand_in import Faults, Node, StandIn, load

    stand_in = StandIn(Node(), Faults(), {})
    base = stand_in.base(lambda asked: asked <= newest, version)
    if hole == "get_api":
        base[0] = None
    elif hole == "base":
        base = None
    holes = {"create_status": (stand_in.api, 0), "get_ep_api": (stand_in.api, 317)}
    holes |= {"parallel_for": (stand_in.api, 274), "create_registry": (stand_in.ep_api, 18)}
    if hole in holes:
        table, slot = holes[hole]
        table[slot] = None
        if hole == "create_status":
            base = stand_in.base(lambda _: True, version)
    elif hole == "ep api":
        nothing = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: None)
        stand_in.api[317] = ctypes.cast(nothing, ctypes.c_void_p).value
    factories, count = (ctypes.c_void_p * 1)(), ctypes.c_size_t(99)
    created = load(library).CreateEpFactories(
        b"name",
        base,
        None,
        None if hole == "factories" else factories,
        0 if hole == "room" else 1,
        None if hole == "count" else ctypes.byref(count),
    )
    words = stand_in.take_status(created)
    assert factories[0] is None
    assert count.value == (99 if hole == "count" else 0)
    assert not stand_in.live
    return words
