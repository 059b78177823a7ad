"""The arrows between the folders, kept by reading every import.

RULES is the table: what a folder may import when it is itself imported, and what only inside a
function, because it is slow to load or comes with an extra that may be absent. Everything else
is refused, the standard library excepted. A module that is itself imported inside functions only
is as good as one of them, and may import what they may.
"""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The last three are of the standard library of some versions of Python.
STANDARD = sys.stdlib_module_names | {"_sha2", "_sha256", "_sha512"}


@dataclass(frozen=True)
class Rule:
    """What the modules of one folder may import beside each other and the standard library."""

    folders: frozenset[str] = frozenset()
    eager: frozenset[str] = frozenset()
    lazy: frozenset[str] = frozenset()
    banned: frozenset[str] = frozenset()
    extras: tuple[str, ...] = ()


RULES = {
    "protocol": Rule(banned=frozenset({"random"})),
    "client": Rule(
        folders=frozenset({"protocol"}),
        eager=frozenset({"platformdirs"}),
        lazy=frozenset({"cryptography", "requests"}),
        banned=frozenset({"random"}),
        extras=("sealed",),
    ),
    "collector": Rule(
        folders=frozenset({"protocol"}),
        eager=frozenset(
            {
                "click",
                "cryptography",
                "flask",
                "flask_limiter",
                "limits",
                "msgspec",
                "numpy",
                "prometheus_client",
                "sqlite_utils",
                "tabulate",
                "waitress",
                "werkzeug",
            }
        ),
        lazy=frozenset({"psycopg", "redis"}),
        extras=("collector", "postgres", "redis", "sealed"),
    ),
    "analysis": Rule(
        folders=frozenset({"protocol"}),
        eager=frozenset({"click", "cryptography", "tabulate"}),
        lazy=frozenset({"matplotlib", "numpy", "requests", "scipy"}),
        extras=("analysis", "plot", "sealed"),
    ),
}

# What the named modules may import beside that: nothing of deniable loads them, only the tool does.
PLUGINS = {Path("client/testing/fixtures.py"): "pytest"}

# Modules that are named unlike the distribution that setup.cfg asks for.
DISTRIBUTIONS = {
    "flask_limiter": "flask-limiter",
    "limits": "flask-limiter",
    "prometheus_client": "prometheus-client",
    "sqlite_utils": "sqlite-utils",
    "werkzeug": "flask",
}

# Beside the four folders: programs and tests that use the installed packages as anybody would.
OTHERS = ("tests", "docs", "examples", "benchmarks")


@dataclass(frozen=True)
class Import:
    """One import; name is absolute and dotted, or empty where it cannot be known."""

    line: int
    name: str
    lazy: bool
    relative: bool = False


@dataclass
class Reader(ast.NodeVisitor):
    """Collects the imports of a module of `package`, knowing which run when it is loaded."""

    package: str
    lazy: bool = False
    found: list[Import] = field(default_factory=list)

    def add(self, node: ast.AST, name: str, *, relative: bool = False) -> None:
        line = getattr(node, "lineno", 0)
        self.found.append(Import(line, name, self.lazy, relative))

    def later(self, nodes: list[ast.stmt] | list[ast.expr]) -> None:
        """Read what does not run when the module is loaded."""
        before, self.lazy = self.lazy, True
        for node in nodes:
            self.visit(node)
        self.lazy = before

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self.base(node.level, node.module or "")
        relative = node.level > 0
        if node.module is None or base == "deniable":  # from . import a, b; from deniable import a
            for alias in node.names:
                self.add(node, f"{base}.{alias.name}".lstrip("."), relative=relative)
        else:
            self.add(node, base, relative=relative)

    def base(self, level: int, module: str) -> str:
        """The absolute name of `module` seen `level` dots up from the package."""
        if level == 0:
            return module
        parts = self.package.split(".")
        return ".".join([*parts[: max(len(parts) - level + 1, 0)], *filter(None, [module])])

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else None
        called = node.func.id if isinstance(node.func, ast.Name) else called
        if called in {"__import__", "import_module"}:
            text = self.beginning(node.args[0]) if node.args else ""
            dots = len(text) - len(text.lstrip("."))
            self.add(node, self.base(dots, text.lstrip(".")), relative=dots > 0)
        self.generic_visit(node)

    @staticmethod
    def beginning(name: ast.expr) -> str:
        """The text of a constant; of an f-string, its dots, which keep it inside the package."""
        if isinstance(name, ast.JoinedStr) and name.values:
            start = name.values[0]
            text = start.value if isinstance(start, ast.Constant) else ""
            return "." * (len(str(text)) - len(str(text).lstrip(".")))
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.visit(node.args)
        self.later(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self.later([node.body])

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            self.later(node.body)
        else:
            self.visit(node.test)
            for child in node.body:
                self.visit(child)
        for child in node.orelse:
            self.visit(child)


def imports(path: Path, package: str) -> list[Import]:
    reader = Reader(package)
    reader.visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return reader.found


def bare(found: Import) -> str | None:
    top = found.name.partition(".")[0]
    if top in RULES and not found.relative:
        return f"{top} would be loaded a second time: import deniable.{top}"
    return None


def fault(folder: str, found: Import) -> str | None:
    """Why a module of the folder may not import this, or None."""
    top, _, rest = found.name.partition(".")
    rule = RULES[folder]
    if found.relative or top == "deniable":
        return project_fault(folder, rest.partition(".")[0], found.relative)
    if not found.name:
        return "an import whose name cannot be read here"
    if top in STANDARD:
        return f"{folder} may not import {top}" if top in rule.banned else None
    if top not in rule.eager | rule.lazy:
        return bare(found) or f"{folder} may not import {top}"
    if top in rule.lazy and not found.lazy:
        return f"{folder} may import {top} inside functions only"
    return None


def project_fault(folder: str, target: str, relative: bool) -> str | None:
    """Why a module of the folder may not import from the folder `target` in this form, or None."""
    if relative:
        return None if target == folder else f"a relative import leaves {folder}"
    if target == folder:
        return f"inside {folder}, import relatively"
    return None if target in RULES[folder].folders else f"{folder} may not import deniable.{target}"


def violations(root: Path) -> Iterator[str]:
    """Every import in the tree that breaks a rule, as "path:line: why"."""
    for folder in (*RULES, *OTHERS):
        modules = {}
        for path in sorted((root / folder).rglob("*.py")):
            inside = path.relative_to(root)
            package = ".".join(["deniable", *inside.parent.parts])
            modules[inside] = imports(path, package)
        late = only_late(folder, modules)
        for inside, found_there in modules.items():
            for found in found_there:
                if found.name == PLUGINS.get(inside):
                    continue
                own = replace(found, lazy=found.lazy or module_name(inside) in late)
                why = fault(folder, own) if folder in RULES else bare(found)
                if why is not None:
                    yield f"{inside}:{found.line}: {why}"


def module_name(inside: Path) -> str:
    """The dotted name of a module of the project."""
    parts = inside.with_suffix("").parts
    return ".".join(["deniable", *(part for part in parts if part != "__init__")])


def only_late(folder: str, modules: dict[Path, list[Import]]) -> set[str]:
    """Modules of a folder that are imported, and only in functions or by others of these."""
    names = {module_name(inside) for inside in modules}
    late = {found.name for each in modules.values() for found in each} & names
    late -= {f"deniable.{folder}"}
    while True:
        early = {
            found.name
            for inside, each in modules.items()
            for found in each
            if not found.lazy and module_name(inside) not in late
        }
        if not late & early:
            return late
        late -= early


def test_nothing_loads_a_plugin() -> None:
    modules = {path: path.parent.relative_to(ROOT) for path in ROOT.glob("client/**/*.py")}
    loaded = {
        found.name
        for path, folder in modules.items()
        for found in imports(path, ".".join(["deniable", *folder.parts]))
    }
    assert {module_name(plugin) for plugin in PLUGINS} & loaded == set()


def test_every_import_keeps_the_arrows() -> None:
    assert list(violations(ROOT)) == []


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("protocol/a.py", "import requests", "protocol may not import requests"),
        ("protocol/a.py", "import deniable.client", "protocol may not import deniable.client"),
        ("protocol/mechanisms/a.py", "import numpy as np", "protocol may not import numpy"),
        ("protocol/mechanisms/a.py", "from ... import client", "a relative import leaves protocol"),
        ("protocol/a.py", "from random import SystemRandom", "protocol may not import random"),
        ("client/a.py", "def f():\n    import random", "client may not import random"),
        ("client/a.py", "if x:\n    import numpy", "client may not import numpy"),
        ("client/a.py", "import requests", "client may import requests inside functions only"),
        ("client/a.py", "try:\n    import cryptography.x\nexcept E: pass", "inside functions only"),
        ("client/a.py", "import click", "client may not import click"),
        ("client/testing/memory.py", "import pytest", "client may not import pytest"),
        ("client/a.py", "from deniable.analysis import b", "client may not import deniable.anal"),
        ("client/a.py", "from ..protocol import b", "a relative import leaves client"),
        ("client/a.py", "from deniable.client import b", "inside client, import relatively"),
        ("client/a.py", "from protocol import b", "protocol would be loaded a second time"),
        ("client/a.py", "importlib.import_module('numpy')", "client may not import numpy"),
        ("client/a.py", "import_module(name)", "an import whose name cannot be read here"),
        ("collector/a.py", "from deniable import client", "collector may not import deniable.cl"),
        ("collector/a.py", "class C:\n    import psycopg", "import psycopg inside functions only"),
        ("collector/a.py", "import redis", "collector may import redis inside functions only"),
        ("collector/a.py", "def f():\n    import scipy", "collector may not import scipy"),
        ("analysis/a.py", "import numpy as np", "analysis may import numpy inside functions only"),
        ("analysis/a.py", "from scipy import stats", "import scipy inside functions only"),
        ("analysis/a.py", "import matplotlib.pyplot", "import matplotlib inside functions only"),
        ("analysis/a.py", "import deniable", "analysis may not import deniable."),
        ("tests/a.py", "from client import b", "client would be loaded a second time"),
        ("examples/a.py", "def f():\n    import analysis.b", "analysis would be loaded a second"),
    ],
)
def test_a_bad_module_is_seen(tmp_path: Path, module: str, source: str, why: str) -> None:
    write(tmp_path / module, source)
    seen = list(violations(tmp_path))
    assert len(seen) == 1
    assert seen[0].startswith(f"{module}:")
    assert why in seen[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("protocol/a.py", "from __future__ import annotations\nimport hashlib, secrets"),
        ("protocol/mechanisms/a.py", "from ..errors import B\nfrom . import c\nfrom .c import d"),
        ("protocol/mechanisms/__init__.py", "import_module(f'.{name}', __package__)"),
        ("client/a.py", "from deniable.protocol.errors import B\nfrom deniable import protocol"),
        ("client/a.py", "import platformdirs\nasync def f():\n    import requests"),
        ("collector/a.py", "import numpy, flask_limiter\nf = lambda: __import__('redis')"),
        ("analysis/a.py", "import click\nif TYPE_CHECKING:\n    import numpy as np"),
        ("tests/a.py", "from deniable.client import Client\nimport scipy, requests"),
    ],
)
def test_a_good_module_passes(tmp_path: Path, module: str, source: str) -> None:
    write(tmp_path / module, source)
    assert list(violations(tmp_path)) == []


def test_a_module_loaded_late_may_load_what_a_function_may(tmp_path: Path) -> None:
    write(tmp_path / "analysis/late.py", "import numpy\nfrom .later import g")
    write(tmp_path / "analysis/later.py", "import numpy")
    assert len(list(violations(tmp_path))) == 2
    write(tmp_path / "analysis/light.py", "def f():\n    from .late import g")
    assert list(violations(tmp_path)) == []
    write(tmp_path / "analysis/hasty.py", "from .late import g")
    assert len(list(violations(tmp_path))) == 2


def write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def pairs(text: str) -> dict[str, str]:
    return {key: value for key, _, value in (re.split(r"\s*(=)\s*", line) for line in lines(text))}


def test_every_package_on_disk_is_listed(setup: configparser.ConfigParser) -> None:
    modules = [path for folder in RULES for path in (ROOT / folder).rglob("*.py")]
    folders = {path.parent.relative_to(ROOT) for path in modules}
    packages = {f"deniable.{'.'.join(folder.parts)}": folder.as_posix() for folder in folders}
    assert sorted(lines(setup["options"]["packages"])) == sorted(packages)
    assert pairs(setup["options"]["package_dir"]) == packages
    assert [folder for folder in folders if not (ROOT / folder / "__init__.py").is_file()] == []


def test_every_folder_ships_its_types(setup: configparser.ConfigParser) -> None:
    assert [folder for folder in RULES if not (ROOT / folder / "py.typed").is_file()] == []
    assert "py.typed" in lines(setup["options.package_data"]["*"])


def test_the_root_is_no_package() -> None:
    assert not (ROOT / "deniable").exists()
    assert str(ROOT) not in [str(Path(entry).resolve()) for entry in sys.path], (
        "run python -P -m pytest, so that nothing can import the folders by their bare names"
    )


@pytest.mark.parametrize("folder", RULES)
def test_extras_install_what_a_folder_imports(
    setup: configparser.ConfigParser, folder: str
) -> None:
    rule = RULES[folder]
    required = lines(setup["options"]["install_requires"])
    for extra in rule.extras:
        required += lines(setup["options.extras_require"][extra])
    installed = {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in required}
    needed = {DISTRIBUTIONS.get(module, module) for module in rule.eager | rule.lazy}
    assert needed <= installed


def test_dev_installs_every_other_extra(setup: configparser.ConfigParser) -> None:
    extras = setup["options.extras_require"]
    others = sorted(set(extras) - {"dev"})
    assert f"deniable[{','.join(others)}]" in lines(extras["dev"])


def test_every_console_script_exists(setup: configparser.ConfigParser) -> None:
    for target in pairs(setup["options.entry_points"]["console_scripts"]).values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("deniable.client", {"click", "cryptography", "numpy", "requests"}),
        ("deniable.client.device", {"click", "cryptography", "numpy", "requests"}),
        ("deniable.analysis", {"matplotlib", "numpy", "requests", "scipy"}),
        ("deniable.analysis.cli", {"matplotlib", "numpy", "requests", "scipy"}),
    ],
)
def test_start_up_loads_only_what_it_needs(module: str, unwanted: set[str], tmp_path: Path) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert module in loaded
    assert loaded & unwanted == set()
