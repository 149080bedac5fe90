# SPDX-License-Identifier: Apache-2.0
"""From what was measured to the tables, the JSON document and the pictures."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks import cpus
from benchmarks.document import KEY, as_text, case_record, target_record
from benchmarks.part import Part
from benchmarks.peers import Peer, version_of
from benchmarks.picture import draw_cases
from benchmarks.run import CaseResult
from benchmarks.tables import case_tables, show, show_note, target_table
from benchmarks.targets import verdicts
from onnx_argmax import build_info

__all__ = ["cases_part", "circumstances", "picture_path", "write"]

_QUIET: Final = 0.05
"""Share of the processors' time that others may take unnoticed."""


def circumstances(command: str, peers: Sequence[Peer], absent: dict[str, str]) -> dict[str, Any]:
    """What the figures depend on: command, date, machine and versions."""
    build = build_info()
    return {
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": cpus.machine(),
        "level": build.level,
        "versions": {
            "onnx-argmax": build.version,
            "compiler": build.compiler,
            "Python": platform.python_version(),
            "ml_dtypes": metadata.version("ml_dtypes"),
            **{peer.name: version_of(peer) for peer in peers},
        },
        "absent": absent,
    }


def cases_part(results: Sequence[CaseResult]) -> Part:
    """The cases against peers and limit, and the targets."""
    held = verdicts(results)
    return Part(
        "cases",
        {
            "results": [case_record(result) for result in results],
            "targets": [target_record(verdict) for verdict in held],
        },
        (*case_tables(results), target_table(held)),
        lambda path, caption: draw_cases(path, results, caption),
    )


def write(
    parts: Sequence[Part], about: dict[str, Any], json_path: Path | None, picture: Path | None
) -> list[Path]:
    """Print the tables and write the files; give what was written."""
    written: list[Path] = []
    for part in parts:
        for table in part.tables:
            show(table)
        if picture is not None and part.draw is not None:
            path = picture_path(picture, part.name)
            part.draw(path, _caption(about))
            written.append(path)
    _show_share(about["others_share"])
    if json_path is not None:
        document = {**about, "key": KEY, **{part.name: part.data for part in parts}}
        beside = json_path.with_name(f".{json_path.name}.part")
        beside.write_text(as_text(document))
        beside.replace(json_path)
        written.append(json_path)
    return written


def _show_share(share: float | None) -> None:
    if share is not None and share > _QUIET:
        show_note(
            f"Other processes took {share:.0%} of the processors' time meanwhile: figures of "
            "more than one thread are not to be relied on."
        )


def picture_path(picture: Path, part: str) -> Path:
    """The cases have the path itself, another part its name behind the stem."""
    return picture if part == "cases" else picture.with_stem(f"{picture.stem}-{part}")


def _caption(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    machine = about["machine"]["processor"]
    share = about["others_share"]
    if share is not None:
        machine += f", {share:.0%} of it busy with others"
    return f"{machine}, level {about['level']}, {about['date']}\n{versions}\n{about['command']}"
