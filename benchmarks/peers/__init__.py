# SPDX-License-Identifier: Apache-2.0
"""The peers, one module each; what a module needs is imported when the peer is loaded."""

from __future__ import annotations

import time
from importlib import metadata
from typing import Final

from benchmarks.peers.base import Peer, Prepared, Task, UnsupportedError
from benchmarks.peers.with_jax import WithJax
from benchmarks.peers.with_numkong import WithNumKong
from benchmarks.peers.with_numpy import WithNumPy
from benchmarks.peers.with_onnxruntime import WithOnnxRuntime
from benchmarks.peers.with_openvino import WithOpenVino
from benchmarks.peers.with_torch import WithTorch

__all__ = [
    "PEERS",
    "Peer",
    "Prepared",
    "Task",
    "UnsupportedError",
    "prepared",
    "present",
    "version_of",
]

PEERS: Final[tuple[Peer, ...]] = (
    WithNumPy(),
    WithTorch(),
    WithOnnxRuntime(),
    WithOpenVino(),
    WithJax(),
    WithNumKong(),
)


def present() -> tuple[list[Peer], dict[str, str]]:
    """The peers that can be imported, and for the others why not."""
    found: list[Peer] = []
    absent: dict[str, str] = {}
    for peer in PEERS:
        try:
            peer.load()
        except ImportError as error:
            absent[peer.name] = f"absent: {error}"
        else:
            found.append(peer)
    return found, absent


def version_of(peer: Peer) -> str:
    """Version of an installed peer."""
    return metadata.version(peer.distribution)


def prepared(peer: Peer, task: Task) -> tuple[Prepared, float]:
    """Make a peer ready and call it once, in so many seconds: some only then say no.

    Raises
    ------
    UnsupportedError
        When the peer cannot do it, with the first line of its own words.
    """
    try:
        made = peer.prepare(task)
        begin = time.perf_counter()
        made.call()
        seconds = time.perf_counter() - begin
    except (ValueError, TypeError, RuntimeError, IndexError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UnsupportedError(lines[0] if lines else type(error).__name__) from error
    return made, seconds
