# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's own profile says of the ArgMax nodes of a session."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NodeRun", "argmax_runs"]

_SUFFIX = "_kernel_time"


@dataclass(frozen=True)
class NodeRun:
    """One run of one node."""

    node: str
    provider: str
    seconds: float


def argmax_runs(profile: Path) -> list[NodeRun]:
    """Every run of every ArgMax, in the order of time; subgraphs included."""
    events: list[dict[str, Any]] = json.loads(profile.read_text("utf-8"))
    return [
        NodeRun(
            event["name"].removesuffix(_SUFFIX), event["args"]["provider"], event["dur"] * 1e-6
        )
        for event in events
        if event["name"].endswith(_SUFFIX) and event["args"]["op_name"] == "ArgMax"
    ]
