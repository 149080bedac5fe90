# SPDX-License-Identifier: Apache-2.0
"""Which version of the package the workers of a Dask cluster have."""

from __future__ import annotations

import pkgutil
from typing import Any

from onnx_argmax._build import __version__

__all__ = ["check_workers"]

# A function of the standard library, which every worker can be asked to run. It imports the
# package as a task does, so that it tells what a task would find, however the package was
# installed, or why the import fails.
_ASK = (pkgutil.resolve_name, "onnx_argmax:__version__")


def check_workers(client: Any) -> str:
    """Check that all workers have this version of the package.

    The scheduler needs no package: the tasks that pass through it name functions of the
    standard library.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster; not an asynchronous one.

    Returns
    -------
    str
        The version that all have.

    Raises
    ------
    RuntimeError
        Where a worker lacks the package, cannot import it or has another version, with each of
        them named; and where there is no worker yet.
    TypeError
        For an asynchronous client.

    Examples
    --------
    >>> from distributed import Client
    >>> import onnx_argmax
    >>> from onnx_argmax.dask import check_workers
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     check_workers(client) == onnx_argmax.__version__
    True
    """
    if client.asynchronous:
        raise TypeError(
            "client: an asynchronous client cannot be waited for here; "
            "pass distributed.Client(client.scheduler.address)"
        )
    answers: dict[str, Any] = client.run(*_ASK, on_error="return")
    if not answers:
        raise RuntimeError(
            "client: the cluster has no worker yet; call client.wait_for_workers(1) first"
        )
    wrong = [
        f"worker {address} {_fault(answer)}"
        for address, answer in answers.items()
        if answer != __version__
    ]
    if not wrong:
        return __version__
    requirement = f"onnx-argmax=={__version__}"
    raise RuntimeError(
        f"onnx_argmax: the client has version {__version__}, but {'; '.join(wrong)}. Install it "
        f"where they run (pip install {requirement}, or the wheel that the client has) and "
        "restart them; on a running cluster client.register_plugin("
        f'distributed.PipInstall(["{requirement}"], restart_workers=True)) does both'
    )


def _fault(answer: object) -> str:
    if isinstance(answer, ModuleNotFoundError) and answer.name == "onnx_argmax":
        return "lacks it"
    if isinstance(answer, Exception):
        return f"cannot import it ({type(answer).__name__}: {answer})"
    return f"has version {answer}"
