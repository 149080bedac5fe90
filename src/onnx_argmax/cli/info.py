# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax info``: what is installed, and what of it runs here."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Final

import numpy as np

from onnx_argmax import build_info
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import show_table

__all__ = ["show_info"]

_WORKS_WITH: Final = ("onnx", "ml_dtypes", "onnxruntime", "torch", "jax", "dask", "zarr", "h5py")
"""Import names of packages whose arrays or models it takes; most of them it never imports."""


def show_info() -> None:
    """Print the build, the level and threads in use, and the packages around it."""
    check_open()
    build = build_info()
    show_table(
        "onnx-argmax",
        ("", ""),
        [
            ("version", build.version),
            ("compiler", build.compiler),
            ("level", build.level),
            ("levels", f"{', '.join(build.levels)} (ONNX_ARGMAX_LEVEL chooses)"),
            ("threads", f"{build.threads} (ONNX_ARGMAX_NUM_THREADS sets it)"),
            ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"),
            ("NumPy", np.__version__),
        ],
    )
    # Looked up, not imported: some of them take seconds to import.
    distributions = metadata.packages_distributions()
    show_table(
        "Packages that it works with",
        ("package", "version"),
        [(name, _versions(name, distributions.get(name, []))) for name in _WORKS_WITH],
    )


def _versions(package: str, distributions: list[str]) -> str:
    """Version of a package, with the distribution's name where that is another one."""
    found = {
        metadata.version(name)
        + ("" if name.lower().replace("-", "_") == package else f" ({name})")
        for name in distributions
    }
    return ", ".join(sorted(found)) or "not installed"
