# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array``: ArgMax of an array in a file."""

from __future__ import annotations

import os
import pickle
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import in_process, in_this_process, python
from onnx_argmax import argmax as fast_argmax
from onnx_argmax import get_num_threads
from onnx_argmax._block_walk import BlockWalk
from stored import small_blocks

pytest.importorskip("typer")

SCORES = np.array([[2, 1, 2], [3, 10, 10]], np.float32)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return saved(tmp_path / "scores.npy", SCORES)


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def result(tmp_path: Path, *arguments: str | Path) -> np.ndarray[Any, Any]:
    """Run the command with ``--output`` and load what it wrote."""
    output = tmp_path / "result.npy"
    printed = in_this_process("array", *arguments, "--output", output).accepted()
    array = np.load(output)
    assert f"{array.dtype} {array.shape}" in printed
    return array


def same(actual: np.ndarray[Any, Any], expected: Any, dtype: str = "int64") -> None:
    np.testing.assert_array_equal(actual, expected, strict=False)
    assert actual.shape == np.shape(expected)
    assert actual.dtype == np.dtype(dtype)


def test_printed_in_a_process_of_its_own(scores: Path) -> None:
    printed = in_process("array", scores, "--axis", "1").accepted()
    assert printed == "shape (2, 1), dtype int64\n[[0]\n [1]]\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--axis", "0"), [[1, 1, 1]]),
        (("--axis", "1"), [[0], [1]]),
        (("--axis", "-1"), [[0], [1]]),
        (("--axis=-2",), [[1, 1, 1]]),
        (("--axis", "1", "--keepdims"), [[0], [1]]),
        (("--axis", "1", "--no-keepdims"), [0, 1]),
        (("--axis", "1", "--select-last-index"), [[2], [2]]),
        (("--axis", "none"), [[4]]),
        (("--axis", "None", "--no-keepdims"), 4),
        (("--axis", "none", "--no-keepdims", "--select-last-index"), 5),
        (("--axis", "1", "--threads", "1"), [[0], [1]]),
    ],
    ids=str,
)
def test_options(options: tuple[str, ...], expected: Any, tmp_path: Path, scores: Path) -> None:
    same(result(tmp_path, scores, *options), expected)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_report_3_narrow_result(dtype: str, tmp_path: Path, scores: Path) -> None:
    same(result(tmp_path, scores, "--axis", "1", "--dtype", dtype), [[0], [1]], dtype)


def test_report_3_too_narrow_a_result(tmp_path: Path) -> None:
    source = saved(tmp_path / "long.npy", np.zeros(257, np.uint8))
    in_this_process("array", source, "--axis", "0", "--dtype", "uint8").refused("257", "256")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=">f4").reshape(2, 3, 4),
        np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
        np.arange(24, dtype=np.float16).reshape(2, 3, 4)[::-1],
        np.array([[[False, True], [True, True]]]),
    ],
    ids=["report_42_byte_swapped", "fortran", "float16", "report_14_bool"],
)
def test_arrays_of_every_kind(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    source = saved(tmp_path / "array.npy", array)
    same(result(tmp_path, source, "--axis", "1"), np.argmax(array, 1, keepdims=True))


def test_rank_0_and_empty(tmp_path: Path) -> None:
    same(result(tmp_path, saved(tmp_path / "scalar.npy", np.float32(5)), "--axis", "-1"), 0)
    empty = saved(tmp_path / "empty.npy", np.zeros((0, 3), np.float32))
    same(result(tmp_path, empty, "--axis", "1", "--no-keepdims"), np.zeros(0, np.int64))


def test_report_4_bfloat16(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    raw, bits = tmp_path / "raw.npy", tmp_path / "bits.npy"
    # As integers, the bits of negative numbers are above those of all others.
    for values in ([1, np.nan, 3], [-1, 0.5, -2]):
        array = np.array(values, ml_dtypes.bfloat16)
        for source in (saved(raw, array), saved(bits, array.view(np.uint16))):
            same(result(tmp_path, source, "--axis", "0", "--bfloat16"), [1])
    # A plain uint16 stays one: here -2 has the largest bits.
    same(result(tmp_path, bits, "--axis", "0"), [2])
    in_this_process("array", raw, "--axis", "0").refused("raw.npy", "|V2", "--bfloat16")
    wide = saved(tmp_path / "wide.npy", np.zeros(3, np.float32))
    in_this_process("array", wide, "--axis", "0", "--bfloat16").refused("float32", "uint16")


def test_member_of_npz(tmp_path: Path) -> None:
    source = tmp_path / "several.npz"
    np.savez(source, scores=SCORES, other=-SCORES, **{"a/b:0": SCORES[::-1]})
    same(result(tmp_path, f"{source}:scores", "--axis", "0"), [[1, 1, 1]])
    same(result(tmp_path, f"{source}:other", "--axis", "0"), [[0, 0, 0]])
    same(result(tmp_path, f"{source}:a/b:0", "--axis", "0"), [[0, 0, 0]])
    in_this_process("array", source, "--axis", "0").refused("'scores', 'other'", f"{source}:NAME")
    in_this_process("array", f"{source}:scroes", "--axis", "0").refused(
        "no array 'scroes'", "'scores', 'other'"
    )


def test_npz_of_one_array(tmp_path: Path) -> None:
    source = tmp_path / "one.npz"
    np.savez_compressed(source, scores=SCORES)
    same(result(tmp_path, source, "--axis", "0"), [[1, 1, 1]])


def test_npz_of_none(tmp_path: Path) -> None:
    source = tmp_path / "none.npz"
    np.savez(source)
    in_this_process("array", source, "--axis", "0").refused("it holds no array")


def test_a_large_result_is_abbreviated(tmp_path: Path) -> None:
    source = saved(tmp_path / "wide.npy", np.zeros((1, 5000), np.uint8))
    printed = in_this_process("array", source, "--axis", "0").accepted()
    assert "shape (1, 5000), dtype int64" in printed
    assert "[[0 0 0 ... 0 0 0]]" in printed


# What the array function refuses is refused here in its words.
@pytest.mark.parametrize(
    ("array", "axis", "words"),
    [
        (SCORES, "2", "axis 2 is out of range for data of rank 2: allowed is -2 to 1"),
        (SCORES, "-3", "axis -3 is out of range"),
        (np.zeros((2, 0), np.float32), "1", "axis 1 of shape (2, 0) has length 0"),
        (np.zeros((2, 0), np.float32), "none", "flattened array of shape (2, 0) has length 0"),
        (np.zeros(2, np.complex64), "0", "complex64 is not supported"),
        (np.array(["a", "b"]), "0", "is not supported"),
        (np.zeros(2, "datetime64[s]"), "0", "is not supported"),
    ],
)
def test_report_25_and_35_what_argmax_refuses(
    array: np.ndarray[Any, Any], axis: str, words: str, tmp_path: Path
) -> None:
    source = saved(tmp_path / "array.npy", array)
    in_this_process("array", source, "--axis", axis).refused(words)


def npy_with_header(header: str) -> bytes:
    """A .npy file of version 1 with any text for a header, and 64 bytes of data."""
    text = f"{header}\n".encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def with_shape(shape: str) -> str:
    return f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.parametrize(
    "header",
    [
        with_shape(f"({10**40},)"),
        with_shape(f"(0, {10**40})"),
        with_shape("(True, 2)"),
        with_shape(f"({2**63 - 1}, 4)"),
        with_shape(f"({2**40}, {2**40})"),
        with_shape("(1, 2), '\\d': 1"),
        "(" * 5000,
        "-" * 9000 + "1",
        "{[]: 1}",
    ],
    ids=[
        *("huge", "huge and empty", "bool", "product wraps", "product wraps to 0"),
        *("warning", "brackets", "signs", "key"),
    ],
)
def test_a_header_that_numpy_stumbles_over(header: str, tmp_path: Path) -> None:
    content = npy_with_header(header)
    (tmp_path / "bad.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("scores.npy", content)
    # In a process of its own, where warnings are shown and not raised.
    in_process("array", tmp_path / "bad.npy", "--axis", "0").refused("bad.npy ")
    in_process("array", tmp_path / "bad.npz", "--axis", "0").refused("bad.npz: array 'scores' ")


def test_an_encrypted_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "locked.npz", scores=SCORES)
    content = bytearray((tmp_path / "locked.npz").read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1
    (tmp_path / "locked.npz").write_bytes(content)
    in_this_process("array", tmp_path / "locked.npz", "--axis", "0").refused(
        "locked.npz: array 'scores' is encrypted"
    )


def test_names_that_numpy_would_confuse(tmp_path: Path) -> None:
    source = tmp_path / "names.npz"
    np.savez(source, **{"a": SCORES, "a.npy": -SCORES})
    in_this_process("array", f"{source}:a.npy", "--axis", "0").refused("there twice", "'a.npy'")


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_pipe_is_no_file(suffix: str, tmp_path: Path) -> None:
    pipe = tmp_path / f"pipe.{suffix}"
    os.mkfifo(pipe)
    in_process("array", pipe, "--axis", "0").refused(f"{pipe}: not a file", "write what comes out")


def write_bad_sources(folder: Path) -> None:
    whole = saved(folder / "whole.npy", SCORES).read_bytes()
    (folder / "cut_data.npy").write_bytes(whole[:-1])
    (folder / "cut_header.npy").write_bytes(whole[:30])
    (folder / "cut_magic.npy").write_bytes(whole[:3])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("1 2 3")
    (folder / "pickle.npy").write_bytes(pickle.dumps(SCORES))
    (folder / "npy.npz").write_bytes(whole)
    (folder / "text.npz").write_text("1 2 3")
    (folder / "text.txt").write_text("1 2 3")
    (folder / "folder.npy").mkdir()
    objects = np.array([{}, []], dtype=object)
    np.save(folder / "objects.npy", objects, allow_pickle=True)
    np.savez(folder / "objects.npz", objects=objects, allow_pickle=True)
    np.savez(folder / "whole.npz", scores=SCORES)
    archive = (folder / "whole.npz").read_bytes()
    (folder / "npz.npy").write_bytes(archive)
    (folder / "cut.npz").write_bytes(archive[:-30])
    damaged = bytearray(archive)
    damaged[archive.index(SCORES.tobytes())] ^= 1
    (folder / "damaged.npz").write_bytes(damaged)
    with zipfile.ZipFile(folder / "notes.npz", "w") as notes:
        notes.writestr("notes.txt", "1 2 3")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.npy", "missing.npy: no such file"),
        ("missing.npz:scores", "missing.npz: no such file"),
        ("folder.npy", "not a file"),
        ("text.txt", "allowed are FILE.npy, FILE.npz"),
        ("cut_data.npy", "truncated or damaged"),
        ("cut_header.npy", "truncated or damaged"),
        ("cut_magic.npy", "not a .npy file"),
        ("empty.npy", "it is empty"),
        ("text.npy", "not a .npy file"),
        ("pickle.npy", "looks like a pickle, which is refused"),
        ("npz.npy", "give it the suffix .npz"),
        ("npy.npz", "it is a .npy file"),
        ("text.npz", "not a .npz file"),
        ("objects.npy", "pickled Python objects"),
        ("objects.npz:objects", "array 'objects' is pickled Python objects"),
        ("cut.npz", "truncated or damaged"),
        ("damaged.npz", "array 'scores' is truncated or damaged"),
        ("notes.npz:notes.txt", "not an array in .npy format"),
    ],
)
def test_bad_source(source: str, words: str, tmp_path: Path) -> None:
    write_bad_sources(tmp_path)
    in_this_process("array", tmp_path / source, "--axis", "0").refused(words)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "trap.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "trap.npz", trap=trap)
    for name in ("trap.npy", "trap.npz"):
        in_this_process("array", tmp_path / name, "--axis", "0").refused("pickled")
    assert not (tmp_path / "sprung").exists()


def test_the_file_is_mapped_not_read(scores: Path) -> None:
    from onnx_argmax.cli.files import read_npy

    array = read_npy(scores)
    assert type(array) is np.ndarray
    assert isinstance(array.base, np.memmap)
    assert not array.flags.writeable


def test_the_output_path_is_checked_before_the_work(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*arguments: Any, **options: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr("onnx_argmax.cli.array.read_source", work)
    (tmp_path / "folder.npy").mkdir()
    command = ("array", scores, "--axis", "0", "--output")
    in_this_process(*command, tmp_path / "none" / "x.npy").refused("no such folder", "none")
    in_this_process(*command, tmp_path / "folder.npy").refused("something else")
    in_this_process(*command, scores / "x.npy").refused("no such folder")
    in_this_process(*command, scores).refused("this is an input")
    (tmp_path / "old.npy").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    in_this_process(*command, tmp_path / "old.npy").refused("read-only")


def test_a_folder_that_takes_no_file(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, **options: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    output = tmp_path / "result.npy"
    in_this_process("array", scores, "--axis", "0", "--output", output).refused(
        "result.npy: cannot be written: Permission denied"
    )


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        OSError("No space left on device"),  # as NumPy says it
        KeyboardInterrupt(),
    ],
    ids=["number", "words", "interrupt"],
)
def test_a_failure_as_it_writes_leaves_everything_as_it_was(
    error: BaseException, tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "result.npy"
    output.write_bytes(b"what was there")
    before = sorted(tmp_path.iterdir())

    def write(self: Any, box: Any, values: Any) -> None:
        os.pwrite(self._file, b"half", 0)
        raise error

    monkeypatch.setattr("onnx_argmax._linear_file.LinearFile.write", write)
    outcome = in_this_process("array", scores, "--axis", "0", "--output", output)
    if isinstance(error, OSError):
        outcome.refused("result.npy", "No space left on device")
    else:
        outcome.refused("interrupted by SIGINT after 0 of 1 blocks", status=130)
    assert output.read_bytes() == b"what was there"
    assert sorted(tmp_path.iterdir()) == before


def test_an_error_leaves_no_output(tmp_path: Path, scores: Path) -> None:
    in_this_process("array", scores, "--axis", "7", "--output", tmp_path / "x.npy").refused("axis")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]


def test_threads_are_handed_on(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def walk(*arguments: Any, threads: int, **options: Any) -> BlockWalk:
        asked.append(threads)
        return BlockWalk(*arguments, threads=threads, **options)

    monkeypatch.setattr("onnx_argmax.cli.array.BlockWalk", walk)
    in_this_process("array", scores, "--axis", "0").accepted()
    in_this_process("array", scores, "--axis", "0", "--threads", "3").accepted()
    assert asked == [get_num_threads(), 3]


def test_who_reads_the_old_output_keeps_it_whole(tmp_path: Path, scores: Path) -> None:
    output = tmp_path / "result.npy"
    output.write_bytes(b"what was there")
    with output.open("rb") as reader:
        in_this_process("array", scores, "--axis", "0", "--output", output).accepted()
        assert reader.read() == b"what was there"


def test_an_output_that_is_a_link_to_itself(tmp_path: Path, scores: Path) -> None:
    links = [tmp_path / "one.npy", tmp_path / "two.npy"]
    for link, target in (links, links[::-1]):
        link.symlink_to(target)
    in_this_process("array", scores, "--axis", "0", "--output", links[0]).refused(
        f"--output: {links[0]}: a symbolic link that leads to itself"
    )
    assert all(link.is_symlink() for link in links)
    in_this_process("array", links[0], "--axis", "0", "--output", tmp_path / "x.npy").refused(
        "one.npy: "
    )


def test_the_output_keeps_mode_and_link_of_what_it_replaces(tmp_path: Path, scores: Path) -> None:
    old = tmp_path / "old.npy"
    old.touch()
    old.chmod(0o640)
    link = tmp_path / "link.npy"
    link.symlink_to(old)
    in_this_process("array", scores, "--axis", "1", "--output", link).accepted()
    same(np.load(old), [[0], [1]])
    assert link.is_symlink()
    assert old.stat().st_mode & 0o777 == 0o640


def test_the_output_must_not_replace_the_source(tmp_path: Path, scores: Path) -> None:
    before = scores.read_bytes()
    (tmp_path / "link.npy").symlink_to(scores)
    for output in (scores, tmp_path / "link.npy"):
        in_this_process("array", scores, "--axis", "1", "--output", output).refused(
            "this is an input, which the result would replace"
        )
    assert scores.read_bytes() == before


# Sources that are read by blocks.


def zarr_array(path: Path, array: np.ndarray[Any, Any], **how: Any) -> Path:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    made = zarr.create_array(path, shape=array.shape, dtype=array.dtype, **how)
    made[...] = array
    return path


def hdf5_dataset(path: Path, array: np.ndarray[Any, Any], **how: Any) -> str:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(path, "w") as file:
        file.create_dataset("group/data", data=array, **how)
    return f"{path}:group/data"


DATA = np.random.default_rng(0).integers(0, 50, (30, 40)).astype(np.float32)


@pytest.mark.parametrize("axis", ["0", "1", "none"])
def test_stores(axis: str, tmp_path: Path) -> None:
    expected = fast_argmax(DATA, None if axis == "none" else int(axis))
    sources = [
        zarr_array(tmp_path / "two.zarr", DATA, chunks=(7, 11), zarr_format=2),
        zarr_array(tmp_path / "three", DATA, chunks=(7, 11)),
        hdf5_dataset(tmp_path / "plain.h5", DATA),
        hdf5_dataset(tmp_path / "gzip.hdf5", DATA, chunks=(7, 11), compression="gzip"),
        tmp_path / "gzip.hdf5",  # of the only dataset in it
        saved(tmp_path / "fortran.npy", np.asfortranarray(DATA)),
    ]
    with small_blocks(500):
        for source in sources:
            same(result(tmp_path, source, "--axis", axis), expected)


def test_bfloat16_in_stores(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.array([-1, 0.5, -2, np.nan, 4], ml_dtypes.bfloat16).view(np.uint16)
    sources = (
        zarr_array(tmp_path / "bits.zarr", bits, chunks=(2,)),
        hdf5_dataset(tmp_path / "bits.h5", bits, chunks=(2,)),
        hdf5_dataset(tmp_path / "plain.h5", bits),
    )
    for source in sources:
        same(result(tmp_path, source, "--axis", "0", "--bfloat16"), [3])
        # Negative ones have the largest bits: the NaN is 0x7fc0.
        same(result(tmp_path, source, "--axis", "0"), [2])
    wide = zarr_array(tmp_path / "wide.zarr", DATA, chunks=(7, 11))
    in_this_process("array", wide, "--axis", "0", "--bfloat16").refused("float32", "uint16")


def test_a_result_to_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    monkeypatch.setattr("onnx_argmax.cli.zarr_output._CHUNK_BYTES", 64)
    source = saved(tmp_path / "data.npy", DATA)
    output = tmp_path / "result.zarr"
    for options, axis, keepdims in (
        (("--axis", "1"), 1, True),  # there is nothing yet; then each replaces the last one
        (("--axis", "0", "--no-keepdims", "--dtype", "uint8"), 0, False),
        (("--axis", "none", "--no-keepdims"), None, False),
    ):
        in_this_process("array", source, *options, "--output", output).accepted()
        found = zarr.open(str(output), mode="r")
        assert found.metadata.zarr_format == 3
        expected = fast_argmax(DATA, axis, keepdims)
        same(np.asarray(found[...]), expected, "uint8" if "uint8" in options else "int64")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npy", "result.zarr"]
    empty = saved(tmp_path / "empty.npy", np.zeros((0, 3), np.float32))
    in_this_process("array", empty, "--axis", "1", "--output", output).accepted()
    assert zarr.open(str(output), mode="r").shape == (0, 1)


def test_outputs_that_are_refused(tmp_path: Path, scores: Path) -> None:
    source = zarr_array(tmp_path / "data.zarr", DATA, chunks=(7, 11))
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "file.zarr").touch()
    before = sorted(tmp_path.rglob("*"))
    for output, words in (
        (source, "this is an input"),
        (source / "result.npy", "within the folder of the input"),
        (source / "result.zarr", "within the folder of the input"),
        (tmp_path / "folder.zarr", "something else there than a Zarr array"),
        (tmp_path / "file.zarr", "something else there than a Zarr array"),
    ):
        in_this_process("array", source, "--axis", "0", "--output", output).refused(words)
    for output in ("folder.zarr", "file.zarr"):
        in_this_process("array", scores, "--axis", "0", "--output", tmp_path / output).refused(
            "something else there than a Zarr array"
        )
    wrong = in_this_process("array", scores, "--axis", "0", "--output", tmp_path / "x.h5")
    wrong.refused(".npy or .zarr", status=2)
    assert sorted(tmp_path.rglob("*")) == before


# Memory.


def test_memory(tmp_path: Path) -> None:
    source = tmp_path / "data.npy"
    mapped = np.lib.format.open_memmap(source, "w+", np.float32, (30_000, 1000))
    mapped[17, 500] = 1
    del mapped
    # In a process of its own, as what this one holds counts.
    refused = in_process("array", source, "--axis", "0", "--memory", "10 MiB")
    refused.refused("--memory: 10 MiB is too little", "(30000, 1000)", "beside")
    found = re.search(r"the least that works is --memory (\S+)", refused.err)
    assert found is not None
    least = in_process("array", source, "--axis", "none", f"--memory={found[1]}")
    assert least.accepted().endswith("[[17500]]\n")


def test_a_result_that_does_not_fit(tmp_path: Path) -> None:
    source = tmp_path / "data.npy"
    np.lib.format.open_memmap(source, "w+", np.uint8, (2, 30_000_000))
    outcome = in_process("array", source, "--axis", "0", "--memory", "200 MiB")
    outcome.refused("whose result takes 229 MiB without --output", "the least that works")
    in_process(
        "array", source, "--axis=0", "--memory=200MiB", f"--output={tmp_path / 'x.npy'}"
    ).accepted()


def test_memory_of_no_size(scores: Path) -> None:
    for size in ("much", "0", "-1"):
        in_this_process("array", scores, "--axis", "0", f"--memory={size}").refused(
            "--memory", status=2
        )


PEAK = """
import resource, sys
from onnx_argmax.cli import main
status = main(sys.argv[1:])
# VmHWM, as the peak that getrusage tells is at least the parent's.
lines = open("/proc/self/status").read().splitlines()
print(next(line for line in lines if line.startswith("VmHWM")).split()[1])
sys.exit(status)
"""


@pytest.mark.parametrize("axis", ["0", "1", "none"])
def test_what_the_process_holds(axis: str, tmp_path: Path) -> None:
    """A file of three times the limit, and for axis 1 a result of a third of it."""
    source = tmp_path / "data.npy"
    np.lib.format.open_memmap(source, "w+", np.float32, (6_000_000, 20))
    outcome = python(
        *("-c", PEAK, "array", str(source), "--axis", axis, "--memory", "160 MiB"),
        *("--output", str(tmp_path / "x.npy")),
    )
    assert int(outcome.accepted().split()[-1]) <= 160 << 10


# What goes wrong.


def test_a_chunk_that_cannot_be_read(tmp_path: Path) -> None:
    data = np.random.default_rng(0).random((30, 40), np.float32)
    source = zarr_array(tmp_path / "data.zarr", data, chunks=(10, 10))
    chunk = source / "c" / "1" / "2"
    chunk.write_bytes(b"\xff" * len(chunk.read_bytes()))
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    dataset = hdf5_dataset(tmp_path / "data.h5", data, chunks=(10, 10), compression="gzip")
    with h5py.File(tmp_path / "data.h5", "r") as file:
        info = file["group/data"].id.get_chunk_info_by_coord((10, 20))
    with (tmp_path / "data.h5").open("r+b") as file:
        file.seek(info.byte_offset)
        file.write(b"\xff" * info.size)
    output = tmp_path / "result.npy"
    for path in (source, dataset):
        in_this_process("array", path, "--axis", "0", "--output", output).refused(
            f"{path}: the block [10:20, 20:30] (chunk 1, 2) cannot be read"
        )
        assert not output.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.h5", "data.zarr"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.zarr", "missing.zarr: no such file"),
        ("missing.h5:data", "missing.h5: no such file"),
        ("data.h5:date", "no dataset 'date' in it; it holds 'group/data'"),
        ("data.h5:group", "'group' is no dataset"),
        ("text.h5", "HDF5 cannot open it"),
        ("cut.h5:group/data", "HDF5 cannot open it"),
        ("folder", "not that of a Zarr array"),
        ("group.zarr", "a Zarr group; pass the path of an array in it: inner"),
        ("group.zarr:inner", "no such array; "),
        ("group.zarr/none", "/group.zarr/inner"),
        ("complex.zarr:x", "complex.zarr is a Zarr array itself, which has no name in it"),
        ("broken.zarr", "Zarr cannot open it"),
        ("broken.zarr:x", "broken.zarr: Zarr cannot open it"),
        ("complex.zarr", "complex64 is not supported"),
    ],
)
def test_bad_store(source: str, words: str, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    hdf5_dataset(tmp_path / "data.h5", DATA)
    (tmp_path / "cut.h5").write_bytes((tmp_path / "data.h5").read_bytes()[:1000])
    (tmp_path / "text.h5").write_text("1 2 3")
    (tmp_path / "folder").mkdir()
    zarr.create_group(tmp_path / "group.zarr").create_array("inner", shape=(5,), dtype="i4")
    (tmp_path / "broken.zarr").mkdir()
    (tmp_path / "broken.zarr" / "zarr.json").write_text("{")
    zarr_array(tmp_path / "complex.zarr", np.zeros(3, np.complex64))
    in_this_process("array", tmp_path / source, "--axis", "0").refused(words)


@pytest.mark.parametrize("url", ["s3://bucket/x.zarr", "https://host/x.npy", "file:///x.h5:a"])
def test_urls(url: str) -> None:
    in_this_process("array", url, "--axis", "0").refused(f"{url}: a URL, which is not opened here")


@pytest.mark.parametrize("library", ["zarr", "h5py"])
def test_a_library_that_is_not_installed(
    library: str, tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.zarr").mkdir()
    (tmp_path / "data.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "data.h5").touch()
    monkeypatch.setitem(sys.modules, library, None)
    words = (f"{library} is needed", 'pip install "onnx-argmax[cli,dask]"')
    source = tmp_path / ("data.zarr" if library == "zarr" else "data.h5")
    in_this_process("array", source, "--axis", "0").refused(*words)
    if library == "zarr":
        output = tmp_path / "x.zarr"
        in_this_process("array", scores, "--axis", "0", "--output", output).refused(*words)


def test_a_disk_without_the_space(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: int) -> None:
        raise OSError(28, "No space left on device")

    def work(self: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr("onnx_argmax.cli.array.BlockWalk.run", work)
    for extra in ((), ("--resume",)):
        for name in ("x.npy", "x.zarr"):
            in_this_process(
                "array", scores, "--axis", "0", "--output", tmp_path / name, *extra
            ).refused(f"{name}: cannot be written: No space left", "152 B are needed", "are free")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]


LIMITED = """
import os, resource, sys
from onnx_argmax.cli import main
if "as-it-is-written" in sys.argv:
    os.posix_fallocate = lambda *place: None
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("when", ["before", "as-it-is-written"])
@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_a_file_that_grows_too_large(when: str, suffix: str, tmp_path: Path) -> None:
    source = saved(tmp_path / "data.npy", np.zeros((2, 10_000), np.uint8))
    command = ("array", str(source), "--axis", "0", "--output", str(tmp_path / f"x{suffix}"))
    python("-c", LIMITED, when, *command).refused(f"x{suffix}: ", "File too large")
    assert [path.name for path in tmp_path.iterdir()] == ["data.npy"]


def test_an_input_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npy = saved(tmp_path / "data.npy", DATA)
    store = zarr_array(tmp_path / "data.zarr", DATA, chunks=(7, 11))
    changed = store / "c" / "1" / "2"
    walk = BlockWalk.run

    def run(self: BlockWalk) -> None:
        walk(self)
        for path in (npy, changed):
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(BlockWalk, "run", run)
    for source in (npy, store):
        for extra in ((), ("--output", tmp_path / "x.npy")):
            in_this_process("array", source, "--axis", "0", *extra).refused(
                f"{source}: it changed while it was read"
            )
    assert sorted(tmp_path.iterdir()) == before


# The bar.

ON_A_TERMINAL = """
import os, pty, sys
process, terminal = pty.fork()
if process == 0:
    os.environ.update(TERM="xterm-256color", COLUMNS="100")
    os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), 1)
    from onnx_argmax.cli import main, progress
    progress._SILENT_SECONDS = float(sys.argv[2])
    os._exit(main(sys.argv[3:]))
while True:
    try:
        shown = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not shown:
        break
    os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.mark.parametrize("silent_seconds", ["0", "60"])
def test_the_bar_on_a_terminal(silent_seconds: str, tmp_path: Path) -> None:
    source = tmp_path / "[red]a\x1b[31m\n.npy"
    np.lib.format.open_memmap(source, "w+", np.uint8, (8, 10_000_000))
    printed = tmp_path / "printed.txt"
    shown = python(
        *("-c", ON_A_TERMINAL, str(printed), silent_seconds),
        *("array", str(source), "--axis", "1", "--no-keepdims"),
    ).accepted()
    assert printed.read_text() == "shape (8,), dtype int64\n[0 0 0 0 0 0 0 0]\n"
    if silent_seconds == "0":
        assert r"[red]a\x1b[31m .npy" in shown
        assert "/76.3 MiB" in shown
    else:
        assert shown == ""


def test_no_bar_where_standard_error_is_no_terminal(
    scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx_argmax.cli.progress._SILENT_SECONDS", 0)
    in_this_process("array", scores, "--axis", "0").accepted()
