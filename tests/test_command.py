# SPDX-License-Identifier: Apache-2.0
"""The command as a whole: help, exit status, one line for an error, and what it imports."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import onnx_argmax
from command import Outcome, in_process, in_shell, in_this_process, python
from onnx_argmax.cli import main

pytest.importorskip("typer")


@pytest.fixture
def array_file(tmp_path: Path) -> Path:
    path = tmp_path / "scores.npy"
    np.save(path, np.array([[2, 1], [3, 10]], np.float32))
    return path


def test_version() -> None:
    assert in_process("--version").accepted() == f"onnx-argmax {onnx_argmax.__version__}\n"


def test_entry_point_is_main() -> None:
    scripts = metadata.entry_points(group="console_scripts", name="onnx-argmax")
    if not scripts:
        pytest.skip("the package is not installed")
    assert {script.load() for script in scripts} == {main}


def test_help_names_every_command_and_the_exit_status() -> None:
    text = in_this_process("--help").accepted()
    for words in ("run", "inspect", "array", "info", "--debug", "--version", "Exit status"):
        assert words in text


@pytest.mark.parametrize("command", ["run", "inspect", "array", "info"])
def test_help_of_a_command(command: str) -> None:
    assert f"onnx-argmax {command}" in in_this_process(command, "--help").accepted()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing command; there are run, inspect, array, bench, info"),
        (("arry",), "No such command 'arry'"),
        (("--frobnicate",), "No such option"),
        (("array",), "Missing argument 'SOURCE'"),
        (("array", "a.npy"), "Missing option '--axis'"),
        (("array", "a.npy", "--axis", "x"), "'x' is neither an integer nor 'none'"),
        (("array", "a.npy", "--axis", "1.0"), "'1.0' is neither an integer nor 'none'"),
        (("array", "a.npy", "--axis", "0", "--dtype", "float32"), "got float32"),
        (("array", "a.npy", "--axis", "0", "--dtype", "nonsense"), "int64, int32"),
        (("array", "a.npy", "--axis", "0", "--dtype", "\udcff"), "got \\udcff"),
        (("array", "a.npy", "--axis", "0", "--dtype", f"{10**19}i8"), f"got {10**19}i8"),
        (("array", "a.npy", "--axis", "0", "--threads", "0"), "--threads"),
        (("array", "a.npy", "--axis", "0", "--threads", "many"), "--threads"),
        (("array", "a.npy", "--axis", "0", "--output", "a.txt"), "allowed: .npy"),
        (("array", "a.npy", "--axis", "0", "--output", "a.npz"), "allowed: .npy"),
        (("run",), "Missing argument 'MODEL'"),
        (("run", "m.onnx", "--output", "a"), "allowed: .npz or .npy"),
        (("run", "m.onnx", "--runtime", "ort"), "'ort' is no runtime; allowed: onnxruntime, ref"),
        (("run", "m.onnx", "--threads", "0"), "--threads"),
        (("inspect",), "Missing argument 'MODEL'"),
        (("inspect", "m.onnx", "--output", "a.npz"), "No such option"),
    ],
)
def test_wrong_use_is_status_2_and_one_line(arguments: tuple[str, ...], words: str) -> None:
    in_this_process(*arguments).refused(words, "--help", status=2)


def test_wrong_use_in_a_process_of_its_own() -> None:
    in_process("array").refused("Missing argument", status=2)


def test_an_error_is_status_1_and_one_line() -> None:
    in_process("array", "missing.npy", "--axis", "0").refused("missing.npy: no such file")


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(place: str) -> None:
    command = ("array", "missing.npy", "--axis", "0")
    arguments = ("--debug", *command) if place == "before" else (*command, "--debug")
    outcome = in_process(*arguments)
    assert outcome.status == 1
    assert outcome.err.startswith("Traceback")
    assert "missing.npy: no such file" in outcome.err


def test_an_unexpected_exception_is_named(
    monkeypatch: pytest.MonkeyPatch, array_file: Path
) -> None:
    def fail(source: str) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("onnx_argmax.cli.array.read_source", fail)
    in_this_process("array", array_file, "--axis", "0").refused(
        "RuntimeError: first line second line; --debug shows where"
    )


def test_not_enough_memory(monkeypatch: pytest.MonkeyPatch, array_file: Path) -> None:
    def fail(source: str) -> None:
        raise MemoryError

    monkeypatch.setattr("onnx_argmax.cli.array.read_source", fail)
    in_this_process("array", array_file, "--axis", "0").refused("not enough memory")


@pytest.mark.parametrize(
    "where",
    [
        "onnx_argmax.cli.array.read_source",
        "onnx_argmax.cli.app.call",
        "onnx_argmax.cli.app._memory",  # Typer deals with those of a command in its own way
    ],
)
def test_interrupted(where: str, monkeypatch: pytest.MonkeyPatch, array_file: Path) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    in_this_process("array", array_file, "--axis", "0").refused(
        "interrupted by SIGINT", status=130
    )


@pytest.mark.parametrize("arguments", [("info",), ("--help",), ("--version",)])
def test_a_reader_that_goes_away_is_no_complaint(arguments: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "onnx_argmax", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [("info",), ("--help",), ("info", "--help"), ("--version",), ("array", "", "--axis", "0")],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("redirection", "words"),
    [
        (">&-", "standard output is closed, so nothing can be shown"),
        pytest.param(
            ">/dev/full",
            "standard output: cannot be written: No space left on device",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it"),
        ),
    ],
)
def test_standard_output_that_takes_nothing(
    redirection: str, words: str, arguments: tuple[str, ...], array_file: Path
) -> None:
    in_shell(redirection, *(part or str(array_file) for part in arguments)).refused(words)


def test_closed_output_is_no_matter_where_a_file_takes_the_result(array_file: Path) -> None:
    output = array_file.with_name("result.npy")
    in_shell(">&-", "array", array_file, "--axis", "0", "--output", output).accepted()
    assert np.load(output).tolist() == [[1, 1]]


def test_closed_error_output_is_not_mixed_with_the_result() -> None:
    assert in_shell("2>&-", "array", "missing.npy", "--axis", "0") == Outcome(1, "", "")


@pytest.mark.parametrize("width", ["0", "1", "20"])
def test_a_terminal_too_narrow_for_anything(width: str, array_file: Path) -> None:
    arguments = ("array", array_file, "--axis", "0")
    printed = in_process(*arguments, COLUMNS=width).accepted()
    assert printed == "shape (1, 2), dtype int64\n[[1 1]]\n"
    assert "ONNX_ARGMAX_LEVEL" in in_process("info", COLUMNS=width).accepted()


def test_help_without_docstrings() -> None:
    text = in_shell("", "--help", flags=["-OO"]).accepted()
    assert "Show what is installed and what of it runs here." in text
    text = in_shell("", "run", "--help", flags=["-OO"]).accepted()
    assert "Run an ONNX model on inputs from files." in text


def test_a_name_cannot_speak_to_the_terminal() -> None:
    in_this_process("array", "a\x1b[2J\nb.npy", "--axis", "0").refused("a\\x1b[2J b.npy")


def test_output_that_takes_only_ascii(array_file: Path) -> None:
    in_process("info", PYTHONIOENCODING="ascii").accepted()


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_extra(module: str) -> None:
    outcome = python(
        "-c",
        f"import sys; sys.modules[{module!r}] = None\n"
        "from onnx_argmax.cli import main; sys.exit(main(['info']))",
    )
    outcome.refused(module, 'pip install "onnx-argmax[cli]"')


@pytest.mark.parametrize("command", ["run", "inspect"])
def test_a_model_without_onnx(command: str) -> None:
    outcome = python(
        "-c",
        "import sys; sys.modules['onnx'] = None\n"
        f"from onnx_argmax.cli import main; sys.exit(main([{command!r}, 'model.onnx']))",
    )
    outcome.refused("onnx", 'pip install "onnx-argmax[cli,onnx]"')


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import onnx_argmax", ("typer", "rich", "onnx")),
        (
            "from onnx_argmax.cli import main; main(['info'])",
            ("onnx", "onnxruntime", "torch", "jax", "dask"),
        ),
        (
            "from onnx_argmax.cli import main; main(['array', sys.argv[1], '--axis', '0'])",
            ("onnx", "ml_dtypes"),
        ),
    ],
)
def test_what_is_not_imported(statement: str, absent: tuple[str, ...], array_file: Path) -> None:
    outcome = python(
        "-c",
        f"import sys; {statement}; print([m for m in {absent!r} if m in sys.modules])",
        str(array_file),
    )
    assert outcome.accepted().splitlines()[-1] == "[]"


def test_info_tells_what_runs_here() -> None:
    build = onnx_argmax.build_info()
    text = in_this_process("info").accepted()
    for value in (build.version, build.compiler, build.level, *build.levels, str(build.threads)):
        assert value in text
    assert f"NumPy      {np.__version__}" in text


def test_info_tells_packages_that_it_works_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata, "packages_distributions", lambda: {"onnxruntime": ["onnxruntime-gpu"]}
    )
    monkeypatch.setattr(metadata, "version", {"onnxruntime-gpu": "1.32.0"}.__getitem__)
    lines = in_this_process("info").accepted().splitlines()
    assert "Packages that it works with" in [line.strip() for line in lines]
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert "1.32.0 (onnxruntime-gpu)" in rows["onnxruntime"]
    assert "not installed" in rows["torch"]


@pytest.mark.parametrize("level", onnx_argmax.build_info().levels)
def test_report_63_the_level_can_be_forced_and_shown(level: str) -> None:
    outcome = in_process("info", ONNX_ARGMAX_LEVEL=level)
    rows = [line.split() for line in outcome.accepted().splitlines()]
    assert ["level", level] in rows


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ONNX_ARGMAX_LEVEL", "x86-64-v9"),
        ("ONNX_ARGMAX_NUM_THREADS", "0"),
        ("ONNX_ARGMAX_NUM_THREADS", "many"),
    ],
)
@pytest.mark.parametrize("command", ["info", "array"])
def test_environment_that_is_no_good(
    command: str, variable: str, value: str, array_file: Path
) -> None:
    arguments = {"info": ("info",), "array": ("array", str(array_file), "--axis", "0")}[command]
    in_process(*arguments, **{variable: value}).refused(variable, value)
