# SPDX-License-Identifier: Apache-2.0
"""The benchmark's structure: every figure has its place; no figure is asserted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    cases,
    data,
    layouts,
    limit,
    main,
    memory,
    report,
    run,
    sweep,
    tables,
    targets,
)
from benchmarks import measure as measuring
from benchmarks.cases import CASES, Case, chosen
from benchmarks.expected import expected
from benchmarks.measure import Timing, interleaved
from benchmarks.peers import PEERS, Task, UnsupportedError, prepared, present
from benchmarks.probes import Prober
from benchmarks.run import CaseResult, PeerResult
from command import in_this_process
from oracle import oracle_argmax

ROOT = Path(__file__).resolve().parent.parent

TINY = Case("tiny/6x5/f32", (6, 5), "float32", 1)


@pytest.fixture(autouse=True)
def _jax_as_it_was() -> Iterator[None]:
    """The peer sets JAX to 64 bits for its whole process, which other tests share."""
    before = "jax" in sys.modules and sys.modules["jax"].config.jax_enable_x64
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", before)


@pytest.fixture
def _tiny_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cases that take no time, on NumPy alone, in a moment."""
    tiny = (TINY, Case("call/6x5/f32", (6, 5), "float32", -1, overhead=True))
    monkeypatch.setattr(cases, "CASES", tiny)
    monkeypatch.setattr("benchmarks.peers.PEERS", PEERS[:1])
    monkeypatch.setattr(measuring, "_LEAST_SECONDS", 1e-6)


def timing(median: float) -> Timing:
    return Timing(median, median, median, median, rounds=7, loops=1)


def result(case: Case, ours: float, best: float, wrong: float, read: float) -> CaseResult:
    peers = {
        "right": PeerResult(timing(best)),
        "wrong": PeerResult(timing(wrong), right=False),
        "missing": PeerResult(reason="absent: no module"),
    }
    return CaseResult(case, 1, 120, 48, timing(ours), timing(read), "read", peers)


def test_names_are_unique_and_each_part_of_the_issue_has_a_group() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.group for case in CASES} == {
        *("class-map", "interleaved", "channels-last", "ocr", "token", "classifier", "volume"),
        *("square", "middle", "row", "rows", "view", "byte-swapped", "last-index", "narrow"),
        *("flattened", "call"),
    }


def test_no_case_is_larger_than_a_small_machine() -> None:
    for case in CASES:
        elements = int(np.prod(case.shape, dtype=np.int64))
        assert elements * data.dtype_of(case.dtype).itemsize <= 2**30, case.name


def test_every_target_names_a_case() -> None:
    for target in targets.TARGETS:
        assert chosen([target.cases])


def test_quick_cases_and_patterns() -> None:
    assert 0 < len(chosen(quick=True)) < len(CASES)
    assert [case.name for case in chosen(["call/8x128/*"])] == ["call/8x128/f32"]
    with pytest.raises(ValueError, match=r"--case: 'none/\*' matches no case.*groups are .*call"):
        chosen(["none/*"])


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_a_layout_gives_the_shape_and_covers_its_memory(layout: str, dtype: str) -> None:
    shape = (2, 3, 4, 5)
    arranged = layouts.arrange(layout, shape, data.dtype_of(dtype))
    assert arranged.view.shape == shape
    assert np.shares_memory(arranged.view, arranged.memory)
    assert arranged.memory.ctypes.data % 64 == 0
    assert arranged.read_bytes.nbytes == arranged.memory.nbytes
    assert arranged.view.dtype.isnative == (layout != "byte-swapped" or dtype == "uint8")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "uint8", "int64"])
@pytest.mark.parametrize("kind", data.KINDS)
def test_a_kind_of_data_is_what_it_says(kind: str, dtype: str) -> None:
    memory = data.allocate((3, 4000), data.dtype_of(dtype))
    if kind == "nan_rich" and memory.dtype.kind in "iu":
        pytest.skip("integers have no NaN")
    data.fill(memory, memory, 1, kind)
    values = memory.astype(np.float64)
    steps = np.diff(values, axis=1)
    if kind == "random":
        assert (steps > 0).any()
        assert (steps < 0).any()
    elif kind == "nan_rich":
        assert 0.05 < np.isnan(values).mean() < 0.2
    elif kind == "all_equal":
        assert not steps.any()
    else:
        sign = 1 if kind == "ascending" else -1
        assert (sign * steps >= 0).all()
        assert (sign * steps > 0).any()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_random_integers_never_reach_the_largest(dtype: str) -> None:
    memory = data.allocate((1 << 18,), np.dtype(dtype))
    data.fill(memory, memory, 0, "random")
    assert memory.max() == np.iinfo(dtype).max - 1


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("select_last_index", [False, True])
def test_expected_in_pieces_is_the_oracle(
    axis: int | None, select_last_index: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.expected._CHUNK", 7)
    values = np.random.default_rng(3).choice([0.0, -0.0, 1.0, np.nan, -2.0], (4, 5, 6))
    values = values.astype(np.float16)
    wanted = oracle_argmax(values, axis, False, select_last_index)
    found = expected(values, axis, select_last_index=select_last_index)
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_every_call_has_its_turn_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_LEAST_SECONDS", 0)
    order: list[str] = []
    calls = {name: lambda name=name: order.append(name) for name in "abc"}
    timings = interleaved(calls, rounds=3, pause=0)
    assert order[-9:] == [*"abc", *"bca", *"cab"]
    for one in timings.values():
        assert (one.rounds, one.loops) == (3, 1)
        assert 0 < one.fastest <= one.low <= one.median <= one.high


def test_a_hopeless_rival_has_fewer_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"ours": 1.0, "best": 0.1, "slow": 0.2, "lag": 0.21, "long": 9.0}
    by_call = {object(): name for name in first}
    calls: Any = {name: call for call, name in by_call.items()}
    monkeypatch.setattr(measuring, "_HOPELESS_SECONDS", 1.0)
    monkeypatch.setattr(measuring, "_once", lambda call, known: first[by_call[call]])
    monkeypatch.setattr(measuring, "_sample", lambda call, loops, pause: first[by_call[call]])
    timings = interleaved(calls, rivals=["best", "slow", "lag", "long"], rounds=7)
    rounds = {name: one.rounds for name, one in timings.items()}
    assert rounds == {"ours": 7, "best": 7, "slow": 7, "lag": 3, "long": 1}


def test_the_limit_writes_where_the_result_is_not_small() -> None:
    read = np.zeros(4096, np.float32)
    assert list(limit.limit_calls(read, np.empty(1, np.int64), 1)) == ["read"]
    both = limit.limit_calls(read, np.empty(4096, np.int64), 2)
    assert len(both) == 2
    for call in both.values():
        assert call() == 0
    (call,) = limit.limit_calls(np.full(5000, 3, np.uint8), np.empty(1, np.int8), 1).values()
    assert call() != 0


def test_a_wrong_peer_is_no_rival() -> None:
    found = result(TINY, ours=2.0, best=4.0, wrong=1.0, read=1.0)
    assert (found.best_peer, found.of_best, found.of_limit) == ("right", 0.5, 0.5)


def test_a_wrong_answer_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "expected", lambda *_, **__: np.full(6, 9))
    with pytest.raises(run.WrongAnswerError, match="tiny/6x5/f32 on 1 threads"):
        list(run.run_case(TINY, [1], [], {}, Prober()))


def test_tables_of_cases_have_room_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "80")
    case = max(CASES, key=lambda case: len(case.name))
    found = [result(case, ours=8.0, best=4.0, wrong=1.0, read=1.0) for _ in range(2)]
    for table in report.cases_part(found).tables:
        tables.show(table)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines.count(case.name) == 3  # once for all its rows of each table
    heads = [line.split() for line in lines]
    assert ["threads", "right", "wrong"] in heads
    assert ["1", "4", "s", "1", "s", "WRONG"] in heads
    assert f"missing: absent: no module ({case.name})" in lines


def test_targets_are_held_against_the_figures() -> None:
    strict = [targets.Target("tiny/*", 0.4, 0.6)]
    found = result(TINY, ours=2.0, best=4.0, wrong=1.0, read=1.0)
    (verdict,) = targets.verdicts([found], strict)
    assert (verdict.best_met, verdict.limit_met, verdict.met) == (False, False, False)
    (verdict,) = targets.verdicts([found], [targets.Target("tiny/*", 0.5, 0.5)])
    assert verdict.met
    (verdict,) = targets.verdicts([found], [])
    assert verdict.target is targets.EVERY_OTHER


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_answers_a_small_case(peer: Any) -> None:
    if peer not in present()[0]:
        pytest.skip(f"{peer.name} is not installed")
    values = np.array([[1, 5, 2], [7, 0, 3]], np.float32)
    for axis, wanted in ((0, [1, 0, 1]), (1, [1, 0])):
        for view in (values, np.flip(np.flip(values).copy())):
            task = Task(view, axis, False, "int64", overhead=False, threads=1)
            assert prepared(peer, task)[0].result().reshape(-1).tolist() == wanted
    narrow = Task(values, 1, False, "uint8", overhead=False, threads=1)
    assert prepared(peer, narrow)[0].result().dtype == np.uint8


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_a_peer_takes_the_last_index_or_says_why_not(peer: Any) -> None:
    if peer not in present()[0]:
        pytest.skip(f"{peer.name} is not installed")
    task = Task(np.array([[4, 4, 1]], np.float32), 1, True, "int64", overhead=False, threads=1)
    if peer.name in ("PyTorch", "NumKong"):
        with pytest.raises(UnsupportedError, match="no such option"):
            prepared(peer, task)
    else:
        assert prepared(peer, task)[0].result().reshape(-1).tolist() == [1]


def test_numpy_keeps_the_contract_on_probes() -> None:
    prober = Prober()
    for dtype in ("float32", "float16", "uint8"):
        assert prober.broken(PEERS[0], Case("any", (6, 5), dtype, 1)) == ()


def test_an_absent_peer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numkong", None)
    found, absent = present()
    assert "NumKong" in absent
    assert "absent" in absent["NumKong"]
    assert all(peer.name != "NumKong" for peer in found)


def test_a_cliff_is_a_point_above_its_cheaper_neighbour() -> None:
    points = [sweep.Point(at, cost) for at, cost in enumerate([1.0, 1.5, 4.0, 1.9, 1.0])]
    assert [(point.at, ratio) for point, ratio in sweep.cliffs(points)] == [(2, 4.0 / 1.5)]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux counts the pages")
def test_memory_beyond_input_and_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = memory._extra_bytes(TINY, 1)
    assert plain < memory.MOST_PER_THREAD
    prepare = memory.ours.prepare

    def greedy(task: Task) -> Any:
        made = prepare(task)
        return type(made)(lambda: np.ones(1 << 25, np.uint8).sum(), made.result)

    monkeypatch.setattr(memory.ours, "prepare", greedy)
    assert memory._extra_bytes(TINY, 1) > 1 << 24


@pytest.mark.usefixtures("_tiny_cases")
def test_a_run_writes_tables_json_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    json_path, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    outcome = in_this_process(
        *("bench", "--folder", ROOT, "--threads", "1", "--json", json_path, "--picture", picture)
    )
    text = outcome.accepted()
    assert "tiny/6x5/f32" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "figures.png"]
    figures = json.loads(json_path.read_text())
    assert figures["command"].startswith("onnx-argmax bench --folder")
    assert {"date", "machine", "level", "versions", "absent", "others_share"} <= figures.keys()
    assert figures["versions"]["NumPy"] == np.__version__
    first, call = figures["cases"]["results"]
    assert first["ours"][-1] >= 7
    assert first["limit"][0] > 0
    assert call["limit"] is None
    timing = first["peers"]["NumPy"]
    assert isinstance(timing, list)
    assert first["of_best"] == pytest.approx(first["ours"][0] / timing[0], rel=1e-3)
    assert len(figures["cases"]["targets"]) == 2


@pytest.mark.usefixtures("_tiny_cases")
def test_the_provider_is_timed_beside_the_cpu_provider(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    from benchmarks import provider

    path = tmp_path / "figures.json"
    provider.main(["--case", "tiny/*", "--json", str(path)])
    assert "tiny/6x5/f32" in capsys.readouterr().out
    figures = json.loads(path.read_text())
    for record in figures["provider"]:
        assert record["ours"][0] > 0
        assert set(record["peers"]) == {"ONNX Runtime"}
    with pytest.raises(SystemExit):
        provider.main(["--case", "none/*"])
    assert "none/*" in capsys.readouterr().err


def test_the_command_knows_the_parts() -> None:
    pytest.importorskip("rich")
    from onnx_argmax.cli import bench

    assert bench.PARTS == main.PARTS


def test_outside_a_clone_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("benchmarks/cases.py", "from a clone", "--folder")
    in_this_process("bench").refused(*words)
    in_this_process("bench", "--folder", tmp_path / "none").refused(*words)


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("--case", "none/*"), "matches no case", 1),
        (("--threads", "999"), "--threads: 999 cannot be measured", 1),
        (("--level", "x86-64-v9"), "x86-64-v9", 1),
        (("--json", "figures.txt"), "allowed: .json", 2),
        (("--picture", "figures.gif"), "allowed: .png or .svg or .pdf", 2),
        (("--json", "no/such/folder.json"), "no such folder", 1),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], words: str, status: int) -> None:
    in_this_process("bench", "--folder", ROOT, *arguments).refused(words, status=status)
