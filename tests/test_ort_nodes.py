# SPDX-License-Identifier: Apache-2.0
"""ArgMax nodes in ONNX Runtime: beyond the contract's table, which ``test_contract.py`` runs."""

from __future__ import annotations

import functools
from typing import Any, Final

import ml_dtypes  # noqa: F401  # bfloat16 travels between processes by its name
import numpy as np
import onnx
import onnx.helper
import pytest
from onnx import TensorProto

import onnx_argmax
from contract import CASES, Refusal
from documented import EXAMPLES
from models import AROUND, argmax_model, argmax_node, model_of
from onnx_argmax._element_types import ELEMENT_TYPES, ElementType
from onnx_argmax.operator import VERSIONS, Version
from oracle import Array, fast_argmax, same_outcome
from ort_calls import answers, cpu_answer, in_threads, peak_growth, providers
from ort_process import Process, RemoteError, in_process, need_onnxruntime
from programs import run_program
from samples import numpy_dtype, random_elements, type_id
from test_documented_examples import data_of

pytestmark = pytest.mark.usefixtures("_onnxruntime")

LEVELS: Final = onnx_argmax.build_info().levels
every_type = pytest.mark.parametrize("element_type", ELEMENT_TYPES, ids=type_id)

# Element types that onnxruntime's CPU provider has no kernel for, on any version.
NOT_ON_CPU: Final = {"uint16", "int16", "uint32", "uint64", "bfloat16"}


@pytest.fixture
def _onnxruntime() -> None:
    need_onnxruntime()


def model(
    element_type: ElementType = ELEMENT_TYPES[0], shape: Any = None, **attributes: Any
) -> bytes:
    return argmax_model(element_type.tensor_proto, shape, **attributes).SerializeToString()


def ours(content: bytes, *arrays: Array, **options: Any) -> list[Array]:
    return in_process(answers, content, [{"data": array} for array in arrays], **options)


# Versions and types.


@pytest.mark.parametrize("opset", [1, 7, 10, 11, 12, 13, 18, 22])
@every_type
def test_nothing_is_left_to_the_cpu_provider(element_type: ElementType, opset: int) -> None:
    """``session.disable_cpu_ep_fallback`` refuses a session in which any node is."""
    data = random_elements(element_type, (7, 5), opset)
    content = model(element_type, (None, None), axis=1, opset=opset)
    if (element_type.since_version or 0) > opset:
        with pytest.raises(RemoteError, match="Type 'tensor\\(bfloat16\\)' of input"):
            ours(content, data, only_ours=True)
        return
    (found,) = ours(content, data, only_ours=True)
    assert same_outcome(found, fast_argmax(data, 1))


every_version_and_type = pytest.mark.parametrize(
    ("version", "element_type"),
    [
        pytest.param(version, element_type, id=f"{version.since_version}-{element_type.name}")
        for version in VERSIONS
        for element_type in version.element_types
    ],
)


@every_version_and_type
def test_documented_examples(version: Version, element_type: ElementType) -> None:
    """The operator's own examples, those of ``onnx.backend.test`` among them."""
    known = {attribute.name for attribute in version.attributes}
    for example in EXAMPLES:
        if not example.attributes.keys() <= known:
            continue
        data = data_of(example, element_type)
        content = model(element_type, opset=version.since_version, **example.attributes)
        (found,) = ours(content, data, only_ours=True)
        assert found.shape == example.shape, example.name
        if example.result is not None:
            assert found.tolist() == example.result, example.name
        arguments = {"keepdims": True, **example.attributes}
        assert same_outcome(found, fast_argmax(data, **arguments)), example.name


@every_version_and_type
def test_what_the_cpu_provider_has(version: Version, element_type: ElementType) -> None:
    """The table in the documentation; without NaN and odd attributes both agree."""
    opset = max(version.since_version, 7)  # its way round for float16 needs a Cast by number
    data = np.array([[1, 3, 3], [4, 2, 1]]).astype(numpy_dtype(element_type))
    content = model(element_type, (None, None), axis=1, opset=opset)
    if element_type.dtype_name in NOT_ON_CPU:
        with pytest.raises(RemoteError) as caught:
            in_process(cpu_answer, content, {"data": data})
        assert "NotImplemented" in caught.value.kinds
    else:
        assert same_outcome(in_process(cpu_answer, content, {"data": data}), np.array([[1], [0]]))
    assert same_outcome(ours(content, data)[0], np.array([[1], [0]]))


@pytest.mark.parametrize("level", LEVELS)
def test_the_contract_at_every_level(level: str) -> None:
    """The table's answers; ``test_contract.py`` has its errors, and the best level."""
    for case in CASES:
        if isinstance(case.outcome, Refusal):
            continue
        number = onnx.helper.np_dtype_to_tensor_dtype(case.data.dtype)
        content = argmax_model(number, None, opset=case.opset, **case.attributes)
        (found,) = ours(content.SerializeToString(), case.data, level=level)
        assert same_outcome(found, case.outcome), case


@pytest.mark.parametrize("threads", [0, 1, 2, 7])
@pytest.mark.parametrize("level", LEVELS)
@every_type
def test_work_that_is_split(element_type: ElementType, level: str, threads: int) -> None:
    """Arrays of some mebibytes: columns, long rows, short rows, one row."""
    count = (9 << 20) // element_type.itemsize
    shapes: tuple[tuple[tuple[int, ...], int], ...] = (
        ((9, count // 9), 0),
        ((3, count // 3), 1),
        ((count // 19, 19), 1),
        ((count,), 0),
    )
    flat = random_elements(element_type, (count,), threads)
    for last in (0, 1):
        for shape, axis in shapes:
            data = flat[: int(np.prod(shape))].reshape(shape)
            content = model(element_type, shape, axis=axis, keepdims=0, select_last_index=last)
            options = {"intra_op_threads": 3} if threads == 0 else {"threads": threads}
            (found,) = ours(content, data, level=level, **options)
            assert np.array_equal(found, fast_argmax(data, axis, False, bool(last)))


def test_the_environments_threads_are_the_most() -> None:
    data = random_elements(ELEMENT_TYPES[0], (3, 1_000_000), 1)
    for threads in ("1", "5"):
        with Process(ONNX_ARGMAX_NUM_THREADS=threads) as process:
            (found,) = process.call(answers, model(axis=1), [{"data": data}])
        assert np.array_equal(found, fast_argmax(data, 1))


# Where a node stands.


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("element_type", [ELEMENT_TYPES[0], ELEMENT_TYPES[3]], ids=type_id)
def test_inside_other_graphs(around: str, element_type: ElementType) -> None:
    content = AROUND[around](argmax_model(element_type.tensor_proto, axis=1, keepdims=0))
    for shape in ((2, 3), (5, 4), (1, 7)):
        data = random_elements(element_type, shape, shape[0])
        (found,) = ours(content.SerializeToString(), data)
        assert same_outcome(found, fast_argmax(data, 1, False))


@pytest.mark.parametrize("branch", [True, False])
def test_inside_an_if_that_is_decided_at_a_run(branch: bool) -> None:
    content = AROUND["if"](argmax_model(TensorProto.UINT16, axis=1, keepdims=0))
    content.graph.initializer.pop()
    content.graph.input.append(onnx.helper.make_tensor_value_info("if_yes", TensorProto.BOOL, ()))
    data = random_elements(ELEMENT_TYPES[3], (4, 9), 4)
    feed = {"data": data, "if_yes": np.array(branch)}
    (found,) = in_process(answers, content.SerializeToString(), [feed])
    assert same_outcome(found, fast_argmax(data, 1, False))


def test_between_nodes_of_the_cpu_provider() -> None:
    """Neg before, Gather behind: sizes change from run to run, and nothing is copied between."""
    content = model_of(
        [
            onnx.helper.make_node("Neg", ["raw"], ["data"]),
            argmax_node(axis=1, keepdims=0),
            onnx.helper.make_node("Gather", ["names", "reduced"], ["found"]),
        ],
        inputs=[onnx.helper.make_tensor_value_info("raw", TensorProto.FLOAT, ("n", "c", "w"))],
        outputs=[onnx.helper.make_tensor_value_info("found", TensorProto.INT32, None)],
        initializers=[
            onnx.helper.make_tensor("names", TensorProto.INT32, (40,), list(range(100, 140)))
        ],
    )
    arrays = [
        random_elements(ELEMENT_TYPES[0], shape, 1, special=False)
        for shape in ((1, 3, 5), (4, 40, 1), (2, 1, 300), (0, 5, 5), (3, 33, 70))
    ]
    found = in_process(answers, content.SerializeToString(), [{"raw": a} for a in arrays])
    for array, result in zip(arrays, found, strict=True):
        assert np.array_equal(result, 100 + fast_argmax(-array, 1, False))


@pytest.mark.parametrize("values", [[70_000, 1e6, 3], [2048, 2049, 1], [np.inf, np.inf, 1]])
def test_what_a_cast_to_float16_made_equal_ties(values: list[float]) -> None:
    """The CPU provider has no kernel for it, and its way round by float32 skips the rounding."""
    content = argmax_model(TensorProto.FLOAT, (None,), keepdims=0)
    cast = onnx.helper.make_node("Cast", ["data"], ["halves"], to=TensorProto.FLOAT16)
    content.graph.node.insert(0, cast)
    content.graph.node[1].input[0] = "halves"
    (found,) = ours(content.SerializeToString(), np.array(values, np.float32))
    assert same_outcome(found, np.array(0))


def test_behind_a_quantised_tensor() -> None:
    content = argmax_model(TensorProto.FLOAT, (None, None), axis=1, keepdims=0)
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["data", "scale", "zero"], ["quantized"]),
        onnx.helper.make_node("DequantizeLinear", ["quantized", "scale", "zero"], ["scores"]),
    ]
    for number, node in enumerate(nodes):
        content.graph.node.insert(number, node)
    content.graph.node[2].input[0] = "scores"
    content.graph.initializer.extend(
        [
            onnx.helper.make_tensor("scale", TensorProto.FLOAT, (), [0.5]),
            onnx.helper.make_tensor("zero", TensorProto.UINT8, (), [128]),
        ]
    )
    data = np.array([[1, 1.1, 0.9], [-3, 2, 2.2]], np.float32)  # all three of a row's round alike
    (found,) = ours(content.SerializeToString(), data)
    assert same_outcome(found, np.array([0, 1]))


def test_shapes_and_ranks_that_change_between_runs() -> None:
    shapes = ((5,), (3, 4), (2, 3, 4), (), (1, 1, 1, 1, 9), (0, 3), (70_000, 2), (3, 0, 2), (7,))
    arrays = [random_elements(ELEMENT_TYPES[0], shape, len(shape)) for shape in shapes]
    for keepdims in (0, 1):
        found = ours(model(axis=-1, keepdims=keepdims), *arrays)
        for array, result in zip(arrays, found, strict=True):
            assert same_outcome(result, fast_argmax(array, -1, bool(keepdims)))


@pytest.mark.parametrize(
    "names", [(), ("axis",), ("keepdims",), ("select_last_index",), ("axis", "keepdims")]
)
def test_attributes_that_are_left_out(names: tuple[str, ...]) -> None:
    values = {"axis": 1, "keepdims": 0, "select_last_index": 1}
    given = {name: values[name] for name in names}
    data = np.array([[3, 5, 5], [3, 1, 1]], np.float32)
    arguments = {"axis": 0, **given}
    (found,) = ours(model(**given), data)
    right = fast_argmax(
        data,
        arguments["axis"],
        bool(given.get("keepdims", 1)),
        bool(given.get("select_last_index", 0)),
    )
    assert same_outcome(found, right)


def test_the_message_names_what_a_user_called_the_node() -> None:
    content = argmax_model(TensorProto.FLOAT, None)
    content.graph.node[0].name = "étiquettes 'x'\n"
    with pytest.raises(RemoteError) as caught:
        ours(content.SerializeToString(), np.zeros((0, 2), np.float32))
    assert "node 'étiquettes 'x'\n' (ArgMax version 13): input of shape (0, 2)" in str(
        caught.value
    )
    assert "InvalidArgument" in caught.value.kinds


def test_an_output_that_cannot_be_had() -> None:
    """Memory of another shape is bound to it; one that cannot be allocated comes the same way."""
    run_program("""
        import numpy as np
        import onnxruntime
        from models import argmax_model
        from onnx_argmax.ort import InferenceSession

        session = InferenceSession(argmax_model(shape=None, axis=1))
        binding = session.io_binding()
        binding.bind_cpu_input("data", np.zeros((2, 3), np.float32))
        (output,) = session.get_outputs()
        other = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((5, 5), np.int64))
        binding.bind_ortvalue_output(output.name, other)
        try:
            session.run_with_iobinding(binding)
        except Exception as error:
            words = str(error)
        assert "(ArgMax version 13): input of shape (2, 3) and type tensor(float)" in words, words
        assert "the output cannot be had" in words
    """)


def test_an_error_leaves_the_session_as_it_was() -> None:
    content = model(axis=1)
    with pytest.raises(RemoteError, match="axis 1 is out of range for data of rank 1"):
        ours(content, np.zeros((3, 2), np.float32), np.zeros(3, np.float32))
    right = [np.zeros((3, 1), np.int64)] * 2
    found = ours(content, *[np.zeros((3, 2), np.float32)] * 2)
    assert all(map(same_outcome, found, right))


# Threads and memory.


@pytest.mark.parametrize("options", [{}, {"threads": 1}, {"threads": 3}], ids=str)
def test_many_threads_run_one_session(options: dict[str, int]) -> None:
    shapes = ((3, 5), (600_000, 3), (3, 600_000), (19, 100_000), (1, 1))
    arrays = [random_elements(ELEMENT_TYPES[0], shape, 3) for shape in shapes]
    right = [fast_argmax(array, 1, False) for array in arrays]
    feeds = [{"data": array} for array in arrays]
    content = model(axis=1, keepdims=0)
    found = in_process(in_threads, content, feeds, workers=8, rounds=3, **options)
    for number, results in enumerate(found):
        assert len(results) == 3 * len(arrays)
        for turn, result in enumerate(results):
            assert same_outcome(result, right[(turn + number) % len(arrays)])


@functools.cache
def growth(between: int) -> int:
    """Peak growth of a run on 256 MiB, with so many nodes of the CPU provider in front."""
    content = argmax_model(TensorProto.FLOAT, None, axis=0, keepdims=0)
    content.graph.node[0].input[0] = f"data{between}" if between else "data"
    for number in range(between):
        before = f"data{number}" if number else "data"
        content.graph.node.insert(
            number, onnx.helper.make_node("Neg", [before], [f"data{number + 1}"])
        )
    with Process() as process:
        found, result = process.call(peak_growth, content.SerializeToString(), (64, 1 << 20))
    assert result.shape == (1 << 20,)
    return found


MEBIBYTE: Final = 1 << 20
DATA_BYTES: Final = 256 * MEBIBYTE
OUTPUT_BYTES: Final = 8 * MEBIBYTE
SLACK_BYTES: Final = 64 * MEBIBYTE
"""onnxruntime rounds what it allocates up; a copy would be four times as much."""


def test_input_and_output_are_not_copied() -> None:
    """The graph's own input, 256 MiB of it, and the graph's output."""
    assert growth(0) < OUTPUT_BYTES + SLACK_BYTES


def test_what_another_provider_made_is_not_copied() -> None:
    """An input that the CPU provider's node made: it alone is new memory."""
    assert DATA_BYTES / 2 < growth(1) < DATA_BYTES + OUTPUT_BYTES + SLACK_BYTES


def test_the_provider_comes_first() -> None:
    assert in_process(providers, model()) == [
        "OnnxArgMaxExecutionProvider",
        "CPUExecutionProvider",
    ]
