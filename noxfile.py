# SPDX-License-Identifier: Apache-2.0
"""Tasks around the project: ``nox -l`` lists them, ``nox -s NAME`` runs one."""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.default_venv_backend = "venv"

CPP = [str(path) for path in sorted(Path("src").rglob("*")) if path.suffix in {".cc", ".h"}]
CPP += [str(path) for path in sorted(Path("tests/native").glob("*.cc"))]


def install_dev_tools(session: nox.Session) -> None:
    session.install(*nox.project.dependency_groups(nox.project.load_toml(), "dev"))


def build_runner(session: nox.Session, name: str, *options: str, **environment: str) -> str:
    """Build the core's test runner, which needs no Python; give its path."""
    session.install("cmake>=3.26", "ninja", ".[test]")
    folder = Path("build") / name
    session.run(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        ".",
        "-B",
        str(folder),
        "-DONNX_ARGMAX_PYTHON=OFF",
        "-DONNX_ARGMAX_ORT=OFF",
        "-DONNX_ARGMAX_RUNNER=ON",
        *options,
        env={**os.environ, **environment},
    )
    session.run("cmake", "--build", str(folder))
    return str(folder / "onnx_argmax_runner")


@nox.session
def lint(session: nox.Session) -> None:
    """Formatting and lint of Python and C++."""
    install_dev_tools(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("clang-format", "--dry-run", "--Werror", *CPP)


@nox.session
def types(session: nox.Session) -> None:
    """A strict type check of the package."""
    install_dev_tools(session)
    session.install(".[test]")
    session.run("basedpyright")


@nox.session
def tests(session: nox.Session) -> None:
    """The test suite; arguments go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def large(session: nox.Session) -> None:
    """The tests that need several GiB of memory."""
    session.install(".[test]")
    session.run("pytest", "-m", "large", "--large", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """The benchmark; arguments go to ``onnx-argmax bench``."""
    peers = nox.project.dependency_groups(nox.project.load_toml(), "bench")
    session.install(".[cli,onnx]", *peers)
    session.run("onnx-argmax", "bench", *session.posargs)


@nox.session
def aarch64(session: nox.Session) -> None:
    """The core on aarch64 under emulation.

    Needs Debian's g++-aarch64-linux-gnu and qemu-user.
    """
    runner = build_runner(
        session,
        "aarch64",
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
        CXX="aarch64-linux-gnu-g++",
    )
    session.run("python", "tests/native/check.py", "qemu-aarch64", runner)


@nox.session
@nox.parametrize("sanitizer", ["address,undefined", "thread"])
def sanitize(session: nox.Session, sanitizer: str) -> None:
    """The core under the compiler's sanitizers."""
    runner = build_runner(
        session,
        f"sanitize-{sanitizer.partition(',')[0]}",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        f"-DCMAKE_CXX_FLAGS=-fsanitize={sanitizer} -fno-sanitize-recover=all",
    )
    session.run("python", "tests/native/check.py", runner)
