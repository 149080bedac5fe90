# SPDX-License-Identifier: Apache-2.0
"""The library by itself: what it exports and needs, and what it does with any runtime's hands.

The runtime here is a stand-in (``ort_stand_in.py``) in a process of its own, so a crash is a
failed test.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import onnx_argmax
from onnx_argmax import ort
from onnx_argmax._element_types import ELEMENT_TYPES
from onnx_argmax.operator import VERSIONS, version_for_opset
from ort_calls import old_runtime, stand_in_life
from ort_process import Process
from ort_stand_in import UNWRITTEN, UNWRITTEN_ROOM, Faults, Node, Tensor
from programs import run_program

LIBRARY: Final = ort.get_library_path()
PROVIDER: Final = "OnnxArgMaxExecutionProvider"


def tool(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    found = subprocess.run([*command, LIBRARY], capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_names_and_path() -> None:
    assert ort.get_ep_name() == PROVIDER
    assert ort.get_ep_names() == [PROVIDER]
    path = Path(LIBRARY)
    assert path.is_absolute()
    assert path.parent == Path(onnx_argmax.__file__).resolve().parent
    assert path.is_file()


def test_path_and_names_need_no_onnxruntime() -> None:
    """For programs in other languages, whose Python may have none."""
    run_program(
        """
        import sys
        sys.modules["onnxruntime"] = None
        from onnx_argmax import ort
        assert ort.get_library_path().endswith(("so", "dylib", "dll"))
        assert ort.get_ep_names() == [ort.get_ep_name()]
        """
    )


def test_two_functions_are_exported() -> None:
    exported = [line.split()[-2:] for line in tool("nm", "-D", "--defined-only")]
    assert exported == [["T", "CreateEpFactories"], ["T", "ReleaseEpFactory"]]


def test_no_weak_definition_could_be_taken_from_it() -> None:
    """A weak symbol that it defines could become everybody's copy; those it lacks are libc's."""
    weak = [line.split() for line in tool("nm", "-D") if line.split()[-2] in "WwVvu"]
    assert all(len(words) == 2 for words in weak), weak  # no address: not defined


def test_no_onnxruntime_is_needed() -> None:
    needed = [line for line in tool("readelf", "-d") if "NEEDED" in line]
    assert needed
    assert not [line for line in needed if "onnxruntime" in line]
    known = ("libstdc++", "libgcc_s", "libc", "libm", "libpthread", "ld-linux")
    for line in needed:
        assert line.partition("[")[2].startswith(known), line


def test_the_library_stays_once_it_is_loaded() -> None:
    """Threads of its own pool wait in its code for ever."""
    assert [line for line in tool("readelf", "-d") if "NODELETE" in line]


# A runtime that is too old, or none at all.


@pytest.fixture(scope="module")
def process() -> Any:
    with Process() as started:
        yield started


def test_older_runtime_is_told_both_versions(process: Process) -> None:
    words = process.call(old_runtime, LIBRARY, newest=23, version=b"1.23.2")
    assert words is not None
    assert "ONNX Runtime 1.23.2 is too old" in words
    assert "1.24 or later is needed" in words
    assert "pip install --upgrade onnxruntime" in words


def test_runtime_of_unknown_version(process: Process) -> None:
    words = process.call(old_runtime, LIBRARY, newest=1, version=None)
    assert words is not None
    assert "of an unknown version is too old" in words


@pytest.mark.parametrize("hole", ["every version", "get_api", "base", "create_status"])
def test_runtime_that_can_be_told_nothing_gets_no_factory(process: Process, hole: str) -> None:
    """There is no function to make a status with, and nothing is registered."""
    assert process.call(old_runtime, LIBRARY, newest=0, version=b"1.0.0", hole=hole) is None


@pytest.mark.parametrize("hole", ["get_ep_api", "ep api", "parallel_for", "create_registry"])
def test_table_with_a_hole_is_refused(process: Process, hole: str) -> None:
    words = process.call(old_runtime, LIBRARY, newest=24, version=b"1.24.0", hole=hole)
    assert words is not None
    assert "lacks functions that its version should have" in words


def test_places_that_are_missing(process: Process) -> None:
    for hole, word in (("factories", "place for factories"), ("count", "number of factories")):
        words = process.call(old_runtime, LIBRARY, newest=24, version=b"1.24.0", hole=hole)
        assert words is not None
        assert word in words
    words = process.call(old_runtime, LIBRARY, newest=24, version=b"1.24.0", hole="room")
    assert words == "there is no room for a factory"


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ONNX_ARGMAX_LEVEL", "mmx", "ONNX_ARGMAX_LEVEL: unknown level 'mmx'"),
        ("ONNX_ARGMAX_NUM_THREADS", "many", "ONNX_ARGMAX_NUM_THREADS: an integer from 1"),
    ],
)
def test_wrong_environment_is_refused(variable: str, value: str, words: str) -> None:
    with Process(**{variable: value}) as process:
        found = process.call(old_runtime, LIBRARY, newest=24, version=b"1.24.0")
    assert found is not None
    assert found.startswith(f"{PROVIDER}: {words}")


# A runtime that is whole.


def life(process: Process, node: Node, *tensors: Tensor | None, **options: Any) -> Any:
    outcomes, seen = process.call(stand_in_life, LIBRARY, node, list(tensors), **options)
    assert seen["live"] == []  # every status and every object is released
    return outcomes, seen


def test_life_of_a_node(process: Process) -> None:
    outcomes, seen = life(process, Node({"axis": 1}), Tensor())
    assert outcomes[:-1] == [None] * 5
    shape, values = outcomes[-1]
    assert shape == (2, 1)
    assert values[:2] == [1, 0]
    assert values[2:] == [UNWRITTEN] * UNWRITTEN_ROOM
    assert seen["added_nodes"] == 1
    version, claim = seen["log"]
    assert version.startswith(f"0 {PROVIDER}: version {onnx_argmax.__version__}, level ")
    assert version.endswith("the runtime's threads")
    assert claim == f"0 {PROVIDER}: claimed node 'labels' (ArgMax version 13) of tensor(float)"


def test_a_definition_for_each_version_with_its_own_types(process: Process) -> None:
    _, seen = life(process, Node())
    found = [
        (d["operator"], d["domain"], d["provider"].decode(), d["versions"], d["types"])
        for d in seen["definitions"]
    ]
    last = {1: 10, 11: 11, 12: 12, 13: 2**31 - 1}
    assert found == [
        (
            b"ArgMax",
            b"",
            PROVIDER,
            (version.since_version, last[version.since_version]),
            {b"T": [0xE00 + row.tensor_proto for row in version.element_types]},
        )
        for version in VERSIONS
    ]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (Node(since_version=27), "the versions of the operator that are known are 1, 11, 12, 13"),
        (
            Node(element_type=17, since_version=12, has_kernel=False),
            "data: element type number 17 of TensorProto.DataType is not supported by ArgMax "
            "version 12; allowed are tensor(float), ",
        ),
        (
            Node(element_type=16, since_version=12, has_kernel=False),
            "data: element type tensor(bfloat16) is not supported by ArgMax version 12; ",
        ),
        (Node(has_kernel=False), "the runtime found no kernel for it"),
        (Node(owner=b"OtherExecutionProvider"), "OtherExecutionProvider has it already"),
    ],
)
def test_what_is_declined_is_logged(process: Process, node: Node, words: str) -> None:
    _, seen = life(process, node)
    assert seen["added_nodes"] == 0
    called = f"node 'labels' (ArgMax version {node.since_version})"
    assert f"declined {called}: {words}" in seen["log"][1]


@pytest.mark.parametrize(
    "node",
    [Node(operator=b"ArgMin"), Node(domain=b"com.example"), Node(operator=b"argmax")],
    ids=["operator", "domain", "case"],
)
def test_other_nodes_are_left_alone(process: Process, node: Node) -> None:
    _, seen = life(process, node)
    assert seen["added_nodes"] == 0
    assert len(seen["log"]) == 1


@pytest.mark.parametrize(("log", "severity"), [("verbose", 0), ("info", 1), ("warning", 2)])
def test_severity_of_the_log(process: Process, log: str, severity: int) -> None:
    options = {b"ep.onnxargmaxexecutionprovider.log": log.encode()}
    _, seen = life(process, Node(), options=options)
    assert [line[0] for line in seen["log"]] == [str(severity)] * 2


def test_settings_are_logged(process: Process) -> None:
    prefix = b"ep.onnxargmaxexecutionprovider."
    level = onnx_argmax.build_info().levels[-1]
    options = {
        prefix + b"threads": b"3",
        prefix + b"level": level.encode(),
        b"ep.other.threads": b"no number of ours",
    }
    _, seen = life(process, Node(), options=options)
    assert seen["log"][0].endswith(f"level {level}, 3 threads of its own")


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (None, "there is no input"),
        (Tensor(data=None), "the runtime handed over no data"),
        (Tensor((-1, 3)), "data: a dimension is negative"),
        (Tensor((2**62, 2**62)), "data: no memory has so many elements"),
        (Tensor((2**61, 1)), "data: no memory has so many elements"),
        (Tensor((1,) * 65), "data: rank 65 is not supported; allowed is up to 64"),
        (Tensor((2, 3), 9), "data: element type number 9 of TensorProto.DataType is not supp"),
        (Tensor((2, 0)), "data: axis 1 of shape (2, 0) has length 0, so it has no largest"),
        (Tensor((0, 0)), "data: axis 1 of shape (0, 0) has length 0"),
        (Tensor((4,)), "axis 1 is out of range for data of rank 1: allowed is -1 to 0"),
        (Tensor(()), "axis 1 is out of range for data of rank 0: allowed is -1 to 0"),
    ],
    ids=[
        "nothing",
        "no data",
        "negative",
        "huge",
        "huge output",
        "rank",
        "type",
        "empty",
        "all empty",
        "axis",
        "scalar",
    ],
)
def test_what_no_kernel_can_do(process: Process, tensor: Tensor | None, words: str) -> None:
    outcomes, _ = life(process, Node({"axis": 1}), tensor)
    assert outcomes[-1].startswith("node 'labels' (ArgMax version 13): ")
    assert words in outcomes[-1]


def test_bfloat16_is_of_version_13_alone(process: Process) -> None:
    tensor = Tensor((2,), 16, struct.pack("<2H", 0x3F80, 0x4000))
    outcomes, _ = life(process, Node(since_version=12), tensor)
    assert "element type tensor(bfloat16) is not supported by ArgMax version 12" in outcomes[-1]
    outcomes, _ = life(process, Node(), tensor)
    assert outcomes[-1][1][0] == 1


def test_a_node_without_a_name_is_called_by_its_output(process: Process) -> None:
    outcomes, _ = life(process, Node(name=b""), Tensor((0,)))
    assert outcomes[-1].startswith("node of output 'reduced' (ArgMax version 13): ")


def test_the_highest_rank(process: Process) -> None:
    outcomes, _ = life(process, Node({"axis": -1}), Tensor((1,) * 62 + (2, 3)))
    shape, values = outcomes[-1]
    assert shape == (1,) * 62 + (2, 1)
    assert values[:2] == [1, 0]


def test_an_empty_array_may_be_huge(process: Process) -> None:
    outcomes, _ = life(process, Node({"axis": 1}), Tensor((0, 2**62, 2**62), data=None))
    assert outcomes[-1] == ((0, 1, 2**62), [UNWRITTEN] * UNWRITTEN_ROOM)


def test_select_last_index_came_with_version_12(process: Process) -> None:
    data = Tensor((2,), 1, struct.pack("<2f", 1, 1))
    for since_version, index in ((1, 0), (11, 0), (12, 1), (13, 1)):
        node = Node({"select_last_index": 1}, since_version=since_version)
        assert life(process, node, data)[0][-1][1][0] == index


def test_the_table_of_types_is_the_packages(process: Process) -> None:
    """The words for a type that a version lacks list the same types as Python's."""
    for opset in (1, 11, 12, 13):
        node = Node(since_version=version_for_opset(opset).since_version)
        words = life(process, node, Tensor((2,), 9))[0][-1]
        allowed = words.partition("allowed are ")[2].split(", ")
        assert allowed == [str(t) for t in version_for_opset(opset).element_types]
    assert len(ELEMENT_TYPES) == 12


# Each call that the library makes fails once, and hands over nothing once.

# Slots of what it can do without: to tell the log of a type and to be heard there, the name in a
# message, an attribute's value where it is the default (a missing one is an error as well).
DISPENSABLE: Final = {55, 60, 86, 233, 244, 247, 248, 290}


@pytest.mark.parametrize("kind", ["failing_call", "empty_call"])
def test_every_call_may_go_wrong(process: Process, kind: str) -> None:
    node, tensors = Node({"axis": 1}), [Tensor(), Tensor((2, 0)), None]
    _, seen = process.call(stand_in_life, LIBRARY, node, tensors)
    assert len(seen["slots"]) > 100
    for number, slot in enumerate(seen["slots"], start=1):
        faults = Faults(**{kind: number})
        outcomes, wrong = process.call(stand_in_life, LIBRARY, node, tensors, faults)
        assert wrong["live"] == [], (faults, slot)
        if kind == "failing_call" and slot not in DISPENSABLE:
            assert [o for o in outcomes if o and "made to fail" in o], (faults, slot, outcomes)


def test_a_pool_that_refuses_costs_nothing_but_time(process: Process) -> None:
    """More than one task, none of which the runtime runs."""
    data = np.zeros((2, 3_000_000), np.float32)
    data[0, 12_345] = data[1, 2_999_999] = 1
    tensor = Tensor(data.shape, 1, data.tobytes())
    node = Node({"axis": 1, "keepdims": 0})
    with Process(ONNX_ARGMAX_NUM_THREADS="4") as several:
        _, seen = several.call(stand_in_life, LIBRARY, node, [tensor])
        last = len(seen["slots"])
        assert seen["slots"][-1] == 274  # KernelContext_ParallelFor
        for faults in (Faults(failing_call=last), Faults(empty_call=last)):
            outcomes, _ = several.call(stand_in_life, LIBRARY, node, [tensor], faults)
            assert outcomes[-1][0] == (2,)
            assert outcomes[-1][1][:2] == [12_345, 2_999_999]


def test_work_is_split_over_the_runtimes_pool() -> None:
    """As many parts as threads are wanted, which do all of it."""
    columns = np.zeros((9, 500_000), np.float32)
    columns[3] = 1
    tensor = Tensor(columns.shape, 1, columns.tobytes())
    with Process(ONNX_ARGMAX_NUM_THREADS="4") as several:
        (*_, output), seen = several.call(stand_in_life, LIBRARY, Node(), [tensor])
        assert seen["parallel"] == [(4, 4, 0)]
        assert output[1][:-UNWRITTEN_ROOM] == [3] * 500_000
        options = {b"ep.onnxargmaxexecutionprovider.threads": b"2"}
        (*_, output), seen = several.call(
            stand_in_life, LIBRARY, Node(), [tensor], options=options
        )
        assert seen["parallel"] == []
        assert output[1][:-UNWRITTEN_ROOM] == [3] * 500_000
        _, seen = several.call(stand_in_life, LIBRARY, Node(), [Tensor()])
        assert seen["parallel"] == []  # a small node is the calling thread's alone
