"""What an app takes on board: packages, modules, memory, and one small file."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from decimal import Decimal
from importlib.metadata import requires
from pathlib import Path

import pytest
from client_kit import Clock, Collector, choice, question, rows, run, survey, survey_file
from packaging.requirements import Requirement

from deniable.client import Client, journal
from deniable.protocol.survey import Survey

BYTES = 100_000
MEMORY = 12_000_000
FIRST = {
    "__future__",
    "deniable",
    "deniable.client",
    "deniable.client.client",
    "deniable.client.faults",
    "deniable.client.foreign",
    "deniable.protocol",
    "deniable.protocol.errors",
}
"""What `from deniable.client import Client` loads, and nothing that these would have to."""

BEFORE_UPLOAD = """
import os
import sys
from deniable.client import Client
from deniable.protocol.survey import load_survey
with Client(sys.argv[1], "http://127.0.0.1:9", sys.argv[2], strict=True) as client:
    for question in load_survey(sys.argv[1]).questions.values():
        client.record(question.id, question.values[1])
    client.flush(), client.status(), client.sent()
"""
NEVER = {
    "asyncio",
    "concurrent",
    "cryptography",
    "email",
    "http",
    "logging",
    "multiprocessing",
    "numpy",
    "platformdirs",
    "random",
    "requests",
    "socket",
    "ssl",
    "subprocess",
    "urllib3",
}
"""What nothing needs before the first upload, if the app says where the store lies."""


def fifty(folder: Path, form: str = "json") -> Path:
    """A survey of 50 daily questions with a second round, in the author's or the compiled form."""
    asked = fifty_questions()
    if form == "json":
        return survey_file(folder / "survey.json", asked)
    head = 'format = 1\nid = "acme"\nmax_epsilon = 100\nlinkable = true\n'
    tables = [
        f"[questions.{one.id}]\nversion = 1\nask = '{one.ask}'\ntype = '{one.type}'\n"
        + (f"choices = {list(one.choices)}\n" if one.choices else "")
        + f"epsilon = {one.epsilon}\nepsilon_first = {one.epsilon_first}\n"
        + f"period = 'day'\ngrace = 3\nexpires = {one.expires}\n"
        for one in asked.questions.values()
    ]
    path = folder / "survey.toml"
    path.write_text("\n".join([f"[survey]\n{head}", *tables]), encoding="utf-8")
    return path


def fifty_questions() -> Survey:
    changes = {"epsilon": Decimal(1), "epsilon_first": Decimal("0.5"), "grace": 3}
    choices = [f"choice {number}" for number in range(16)]
    asked = {
        f"question_{number:02}": choice(*choices, **changes) if number % 2 else question(**changes)
        for number in range(50)
    }
    return survey({"linkable": True}, **asked)


def test_the_base_install_asks_for_two_packages() -> None:
    wanted = [Requirement(line) for line in requires("deniable") or []]
    plain = {one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}
    assert plain == {"platformdirs", "requests"}


def test_import_loads_next_to_nothing() -> None:
    program = "import sys; bare = set(sys.modules); from deniable.client import Client"
    assert set(run(f"{program}; print(*set(sys.modules) - bare)").split()) <= FIRST


@pytest.mark.parametrize("form", ["json", "toml"])
def test_no_network_is_loaded_before_the_first_upload(
    form: str, tmp_path: Path, store: Path
) -> None:
    loaded = run(f"{BEFORE_UPLOAD}\nprint(*sys.modules)", fifty(tmp_path, form), store).split()
    assert {"deniable.client.engine", "sqlite3"} <= set(loaded)
    assert NEVER & {name.partition(".")[0] for name in loaded} == set()


def test_a_compiled_survey_loads_only_the_mechanisms_it_names(tmp_path: Path, store: Path) -> None:
    path = survey_file(tmp_path / "survey.json", survey(dark=question(mechanism="grr")))
    loaded = set(run(f"{BEFORE_UPLOAD}\nprint(*sys.modules)", path, store).split())
    folder = "deniable.protocol.mechanisms"
    assert f"{folder}.grr" in loaded
    assert loaded & {f"{folder}.{name}" for name in ("hadamard", "olh", "oue", "rappor")} == set()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("form", ["json", "toml"])
def test_memory_before_the_first_upload(form: str, tmp_path: Path, store: Path) -> None:
    """Resident, with bytecode in place as an installed package has it."""
    held = "print(*[x.split()[1] for x in open('/proc/self/status') if x.startswith('VmRSS')])"
    given = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    given["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")
    program = f"{BEFORE_UPLOAD}\n{held}"
    survey = fifty(tmp_path, form)
    run(program, survey, store.with_name("first.db"), env=given)  # compiles
    more = int(run(program, survey, store, env=given)) - int(run(held, env=given))
    assert 0 < more * 1024 < MEMORY


def test_a_year_of_fifty_daily_questions_is_one_small_file(
    quick_store: Path, heard: Collector, clock: Clock
) -> None:
    """Daily until the journal has long been full, then monthly; four periods wait at a time."""
    asked = fifty_questions()
    sizes, periods = [], 0
    with Client(asked, heard.url, quick_store, "on", strict=True, _clock=clock) as client:
        client._engine._uploader.stop(5)  # it would be amid a transaction when sizes are taken
        for days in (1,) * 40 + (30,) * 11:
            values = {name: one.values[periods % 2] for name, one in asked.questions.items()}
            client.record_many(values)
            periods += 1
            if days > 1 or periods % 4 == 0:
                sizes.append(size_of(quick_store))
                client.flush(force=True)
                sizes.append(size_of(quick_store))
            clock.advance(timedelta(days=days))
        status = client.status()
    assert (status.sent, status.dropped) == (periods * len(asked.questions), {})
    ((entries,),) = rows(quick_store, "SELECT count(*) FROM answered")
    assert entries >= journal.MOST
    assert max(sizes) < BYTES
    assert sizes[-1] == max(sizes[len(sizes) // 2 :])  # it stopped growing


def size_of(store: Path) -> int:
    """Bytes of a store and of whatever lies beside it."""
    return sum(path.stat().st_size for path in store.parent.iterdir())
