# SPDX-License-Identifier: Apache-2.0
"""What is public is listed, documented and importable with NumPy alone."""

from __future__ import annotations
import __future__

import doctest
import importlib
import importlib.metadata
import inspect
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import onnx_argmax
from programs import run_program

# Public modules beside the package itself, with what they need beyond NumPy.
MODULES = {
    "onnx_argmax": (),
    "onnx_argmax.operator": (),
    "onnx_argmax.reference": ("onnx",),
    "onnx_argmax.backend": ("onnx",),
    "onnx_argmax.outofcore": (),
    "onnx_argmax.dask": ("dask",),
    "onnx_argmax.ort": ("onnxruntime", "onnx"),
    "onnx_argmax.cli": ("typer", "rich"),
}
every_module = pytest.mark.parametrize("name", MODULES)


def load(name: str) -> ModuleType:
    for needed in MODULES.get(name, ()):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    return importlib.import_module(name)


def test_public_modules_are_known() -> None:
    # By its name's end, pkgutil takes the library for ONNX Runtime for a module.
    found = {
        f"onnx_argmax.{module.name}"
        for module in pkgutil.iter_modules(onnx_argmax.__path__)
        if not module.name.startswith(("_", "libonnx_argmax_ep"))
    }
    assert {"onnx_argmax", *found} == set(MODULES)


def test_all_is_what_is_imported() -> None:
    """Recomputed: every name in the package that is neither private nor a module."""
    public = {
        name
        for name, value in vars(onnx_argmax).items()
        if not name.startswith("_") and not isinstance(value, (ModuleType, __future__._Feature))
    }
    assert sorted(public | {"__version__"}) == sorted(onnx_argmax.__all__)


@every_module
def test_all_names_exist_once(name: str) -> None:
    module = load(name)
    assert len(module.__all__) == len(set(module.__all__))
    for public in module.__all__:
        assert hasattr(module, public)


@every_module
def test_all_has_every_public_definition(name: str) -> None:
    module = load(name)
    defined = {
        public
        for public, value in vars(module).items()
        if not public.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == name
    }
    assert defined <= set(module.__all__)


@every_module
def test_public_definitions_are_documented(name: str) -> None:
    module = load(name)
    assert module.__doc__
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or callable(value):
            assert inspect.getdoc(value), public


# The array function is defined in a private module, where doctest finds it. The example of
# onnx_argmax.ort registers a library, so test_ort_session.py runs it in a process of its own.
@pytest.mark.parametrize("name", [*list(MODULES)[1:-2], "onnx_argmax._argmax"])
def test_examples_in_docstrings(name: str) -> None:
    results = doctest.testmod(load(name))
    assert results.attempted
    assert results.failed == 0


def test_signature_of_the_array_function() -> None:
    signature = inspect.signature(onnx_argmax.argmax)
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    by_position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    by_name = inspect.Parameter.KEYWORD_ONLY
    assert kinds == {
        "data": by_position,
        "axis": by_position,
        "keepdims": by_position,
        "select_last_index": by_position,
        "dtype": by_name,
        "out": by_name,
        "threads": by_name,
    }
    defaults = {name: p.default for name, p in signature.parameters.items()}
    assert defaults == {
        "data": inspect.Parameter.empty,
        "axis": 0,
        "keepdims": True,
        "select_last_index": False,
        "dtype": None,
        "out": None,
        "threads": None,
    }


def test_version_is_the_distributions() -> None:
    assert onnx_argmax.build_info().version == onnx_argmax.__version__
    try:
        installed = importlib.metadata.version("onnx-argmax")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("runs from the source tree, not from an installed distribution")
    assert onnx_argmax.__version__ == installed


def test_build_info_is_plain_data() -> None:
    info = onnx_argmax.build_info()
    assert info.level in info.levels
    assert info.compiler
    assert info == onnx_argmax.build_info()
    with pytest.raises(AttributeError):
        info.level = "other"  # type: ignore[misc]


IMPORTS = """
    import sys
    import numpy
    import numpy.exceptions
    before = set(sys.modules)
    import onnx_argmax
    {then}
    new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
    others = new - set(sys.stdlib_module_names) - {{"numpy", "onnx_argmax"}}
    assert not others, others
"""


@pytest.mark.parametrize(
    "then",
    [
        "",
        "import onnx_argmax.operator",
        "import onnx_argmax.ort; onnx_argmax.ort.get_library_path()",
        "onnx_argmax.argmax(numpy.arange(3)); onnx_argmax.build_info()",
        "onnx_argmax.argmax(b'123', dtype='int8')",
    ],
    ids=["import", "operator", "ort", "numpy array", "bytes"],
)
def test_numpy_alone_is_imported(then: str) -> None:
    """Neither onnx nor ml_dtypes, torch, typer, rich, array_api_compat or anything else."""
    run_program(IMPORTS.format(then=then))


def test_numpy_alone_is_needed() -> None:
    """With everything else missing, the array function works."""
    run_program(
        """
        import sys

        class OnlyNumPy:
            def find_spec(self, name, path=None, target=None):
                top = name.partition(".")[0]
                if top not in {*sys.stdlib_module_names, "numpy", "onnx_argmax"}:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, OnlyNumPy())
        import numpy as np
        import onnx_argmax
        assert onnx_argmax.argmax(np.array([1, 3, 2])) == 1
        """
    )


def test_numpy_warns_of_nothing() -> None:
    """Overflow and NaN are answers here, no errors, whatever NumPy's error state is."""
    with np.errstate(all="raise"):
        assert onnx_argmax.argmax(np.array([np.inf, np.nan, -np.inf])) == 1
