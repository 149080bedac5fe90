# SPDX-License-Identifier: Apache-2.0
"""What of an input is looked at to tell whether it changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_argmax.cli.input_identity import identity_of


def changes(path: Path, change: Callable[[], object], source: str | None = None) -> bool:
    """Whether it is seen, and the same is seen of the same."""
    before = identity_of(path, source)
    assert before is not None
    assert identity_of(path, source) == before
    change()
    return identity_of(path, source) != before


def later(path: Path) -> Callable[[], None]:
    """Write to a file, as much as is there, later than anything else."""

    def change() -> None:
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))

    return change


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    assert identity_of(path) is None
    np.save(path, [1, 2])
    assert changes(path, later(path))
    assert changes(path, lambda: np.save(path, [1, 2, 3]))
    assert not changes(path, lambda: np.save(tmp_path / "other.npy", [1]))


def test_folders(tmp_path: Path) -> None:
    for name in ("a", "c/0/0", "c/0/1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert changes(tmp_path, later(tmp_path / "c/0/1"))
    assert changes(tmp_path, lambda: (tmp_path / "c/0/0").write_text("more"))
    assert changes(tmp_path, lambda: (tmp_path / "c/1").write_text(""))
    assert changes(tmp_path, (tmp_path / "c/0/0").unlink)
    assert changes(tmp_path, lambda: (tmp_path / "c/0/1").rename(tmp_path / "c/0/0"))


def test_links_in_a_folder(tmp_path: Path) -> None:
    """A store whose chunks lie on another disk."""
    store, far = tmp_path / "store", tmp_path / "far"
    (far / "deep").mkdir(parents=True)
    (far / "deep" / "0").write_text("0")
    store.mkdir()
    (store / "c").symlink_to(far)
    (far / "up").symlink_to(store)
    (far / "self").symlink_to(far)
    (store / "gone").symlink_to(tmp_path / "nowhere")
    (store / "file").symlink_to(tmp_path / "one")
    (tmp_path / "one").write_text("1")
    assert changes(store, later(far / "deep" / "0"))
    assert changes(store, lambda: (far / "deep" / "1").write_text("1"))
    assert changes(store, later(tmp_path / "one"))
    assert changes(store, lambda: (tmp_path / "nowhere").write_text("there"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root lists every folder")
def test_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    assert changes(tmp_path, lambda: inner.chmod(0))
    inner.chmod(0o700)


def test_a_folder_takes_no_more_memory_for_more_files(tmp_path: Path) -> None:
    import tracemalloc

    for number in range(3000):
        (tmp_path / f"{number}").touch()
    tracemalloc.start()
    try:
        identity_of(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


class Hdf5:
    """A file, ``data.h5``, whose datasets lie in others, each by another way."""

    def __init__(self, folder: Path) -> None:
        self.h5py = pytest.importorskip("h5py", reason="h5py is not installed")
        self.folder, self.path = folder, folder / "data.h5"

    def make(self, name: str, **datasets: Any) -> Path:
        with self.h5py.File(self.folder / name, "a") as file:
            for key, value in datasets.items():
                file[key] = value
        return self.folder / name

    def virtual(self, name: str, source: str, dataset: str = "x") -> Path:
        layout = self.h5py.VirtualLayout((3,), "i8")
        layout[...] = self.h5py.VirtualSource(source, dataset, (3,))
        with self.h5py.File(self.folder / name, "a") as file:
            file.create_virtual_dataset("virtual", layout)
        return self.folder / name


@pytest.fixture
def hdf5(tmp_path: Path) -> Hdf5:
    return Hdf5(tmp_path)


def test_hdf5_alone(hdf5: Hdf5) -> None:
    hdf5.make("data.h5", x=[1, 2, 3], y=5)
    found = identity_of(hdf5.path)
    assert found is not None
    assert len(found) == 3
    assert changes(hdf5.path, later(hdf5.path))
    hdf5.path.write_bytes(hdf5.path.read_bytes()[:100])
    assert changes(hdf5.path, later(hdf5.path))


def test_external_links(hdf5: Hdf5) -> None:
    """Also on the way to a dataset, and one behind the other."""
    h5py = hdf5.h5py
    last = hdf5.make("last.h5", x=[1, 2, 3])
    far = hdf5.make("far.h5", **{"group/link": h5py.ExternalLink("last.h5", "/x"), "z": 5})
    hdf5.make("data.h5", there=h5py.ExternalLink("far.h5", "/group"), plain=[1])
    hdf5.make("data.h5", soft=h5py.SoftLink("/there/link"), loop=h5py.SoftLink("/loop"))
    hdf5.make("data.h5", missing=h5py.ExternalLink("missing.h5", "/x"))
    for name in ("there/link", "soft", "/there//link"):
        source = f"{hdf5.path}:{name}"
        for path in (last, far, hdf5.path):
            assert changes(hdf5.path, later(path), source), (name, path)
            assert changes(hdf5.path, later(path))
    for name in ("plain", "loop", "none"):
        assert not changes(hdf5.path, later(last), f"{hdf5.path}:{name}")
    source = f"{hdf5.path}:missing"
    assert changes(hdf5.path, lambda: hdf5.make("missing.h5", x=5), source)


def test_external_storage(hdf5: Hdf5, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hdf5.folder)
    raw = hdf5.folder / "raw.bin"
    with hdf5.h5py.File(hdf5.path, "w") as file:
        file.create_dataset("data", (4,), "i8", external=[("raw.bin", 0, 32)])[...] = 5
        file["other"] = 5
    assert changes(hdf5.path, later(raw))
    assert changes(hdf5.path, later(raw), f"{hdf5.path}:data")
    assert not changes(hdf5.path, later(raw), f"{hdf5.path}:other")


def test_virtual_datasets(hdf5: Hdf5) -> None:
    """Also of what is virtual itself, or not there yet."""
    last = hdf5.make("last.h5", x=[1, 2, 3])
    middle = hdf5.virtual("middle.h5", "last.h5")
    hdf5.virtual("data.h5", "middle.h5", "virtual")
    for path in (last, middle):
        for source in (None, f"{hdf5.path}:virtual"):
            assert changes(hdf5.path, later(path), source)
    last.unlink()
    assert changes(hdf5.path, lambda: hdf5.make("last.h5", x=[3, 2, 1]))


def test_virtual_datasets_in_their_own_file(hdf5: Hdf5) -> None:
    hdf5.make("data.h5", x=[1, 2, 3])
    hdf5.virtual("data.h5", ".")
    found = identity_of(hdf5.path)
    assert found is not None
    assert len(found) == 3


def test_virtual_datasets_of_files_with_numbers(hdf5: Hdf5) -> None:
    h5py = hdf5.h5py
    hdf5.make("part-0.h5", x=[1, 2, 3])
    with h5py.File(hdf5.path, "w") as file:
        space = h5py.h5s.create_simple((0,), (h5py.h5s.UNLIMITED,))
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        mapped, part = space.copy(), h5py.h5s.create_simple((3,))
        mapped.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), (3,), (3,))
        creation.set_virtual(mapped, b"part-%b.h5", b"x", part)
        h5py.h5d.create(file.id, b"data", h5py.h5t.NATIVE_INT64, space, creation)
    assert changes(hdf5.path, later(hdf5.folder / "part-0.h5"))
    assert changes(hdf5.path, lambda: hdf5.make("part-1.h5", x=[3, 2, 1]))
