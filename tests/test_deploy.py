"""The files an operator starts from: each is read as its own program would, and all agree."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_lines import parsed, unknown_words
from servers import Postgres

from deniable.collector.config import Config
from deniable.collector.metrics import Metrics, Standing
from deniable.collector.service import Collector
from deniable.collector.standing import checks_of
from deniable.collector.store import open_store

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
PORT = 8080
USER = 10001
ENGINE = shutil.which("systemd-analyze")
COMMENTED = re.compile(r"^(?:#|--) +.*?\b(deniable-collector \w.*)$", re.MULTILINE)


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """(name, arguments) of each line of the Dockerfile, continued lines joined."""
    lines = text_of("Dockerfile").replace("\\\n", " ").splitlines()
    found = [line.split(maxsplit=1) for line in lines if line.strip() and line[0] != "#"]
    return [(name, arguments.strip()) for name, arguments in found]


def given(name: str) -> list[str]:
    return [arguments for found, arguments in instructions() if found == name]


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(text_of("compose.yaml"))
    return document


def unit(name: str) -> configparser.ConfigParser:
    """A unit; of a setting that is given twice the last counts here."""
    parser = configparser.ConfigParser(
        strict=False, interpolation=None, delimiters=("=",), comment_prefixes=("#",)
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / name, encoding="utf-8")
    return parser


def collector_words(line: str) -> list[str]:
    """What a unit's command gives deniable-collector, also if a shell starts it."""
    words = shlex.split(line)
    if words[0] == "/bin/sh":
        words = shlex.split(words[2].replace("%%", "%").replace("$$", "$"))[1:]
    assert words[0] == "/opt/deniable/bin/deniable-collector"
    return words[1:]


COMMANDS = {
    "Dockerfile": json.loads(given("CMD")[0]),
    "compose.yaml": compose()["services"]["collector-1"]["command"],
    "deniable-collector.service": collector_words(
        unit("deniable-collector.service")["Service"]["ExecStart"]
    ),
    "deniable-backup.service": collector_words(
        unit("deniable-backup.service")["Service"]["ExecStart"]
    ),
}
COMMENTS = [
    (path.name, line.replace("\\%", "%"))
    for path in FILES
    for line in COMMENTED.findall(path.read_text(encoding="utf-8").replace("\\\n#", " "))
]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_collector_understands_its_command(name: str) -> None:
    assert parsed(COMMANDS[name])["store"]


@pytest.mark.parametrize(("name", "line"), COMMENTS)
def test_commands_in_comments_exist(name: str, line: str) -> None:
    assert unknown_words(line) == [], name


def test_comments_with_commands_are_found() -> None:
    found = {name for name, _ in COMMENTS}
    assert found == {"compose.yaml", "deniable-backup.service", "deniable-collector.service"}


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "deniable-collector.service"])
def test_every_collector_listens_on_one_port(name: str) -> None:
    assert parsed(COMMANDS[name])["port"] == PORT


def test_the_keys_are_never_beside_the_store() -> None:
    for name in ("Dockerfile", "compose.yaml", "deniable-collector.service"):
        assert parsed(COMMANDS[name])["keys"] == "/var/lib/deniable-keys", name


def test_proxies_lead_to_that_port() -> None:
    targets = {
        "nginx.conf": r"server (\S+?):(\d+);",
        "Caddyfile": r"\{\$DENIABLE_COLLECTORS:(\S+?):(\d+)",
    }
    for name, pattern in targets.items():
        assert ("127.0.0.1", str(PORT)) in re.findall(pattern, text_of(name)), name
    collectors = compose()["services"]["caddy"]["environment"]["DENIABLE_COLLECTORS"]
    assert collectors.split() == [f"collector-1:{PORT}", f"collector-2:{PORT}"]


def test_the_image_starts_from_tags_and_runs_as_nobody_special() -> None:
    assert [re.fullmatch(r"python:3\.\d+-slim( AS build)?", base) is not None for base in
            given("FROM")] == [True, True]  # fmt: skip
    assert given("USER") == [f"{USER}:{USER}"]
    after = [name for name, _ in instructions()][[*map(tuple, instructions())].index(
        ("USER", f"{USER}:{USER}")
    ) :]  # fmt: skip
    assert "RUN" not in after
    assert "COPY" not in after
    assert not given("ADD")
    assert str(PORT) in given("EXPOSE")
    assert f"http://127.0.0.1:{PORT}/livez" in given("HEALTHCHECK")[0]
    assert json.loads(given("ENTRYPOINT")[0]) == ["deniable-collector"]
    assert all("pip install --no-cache-dir" in run for run in given("RUN") if "pip" in run)


def test_the_health_check_is_a_program() -> None:
    command = json.loads(given("HEALTHCHECK")[0].partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "HEALTHCHECK", "exec")


def sources() -> list[str]:
    """What the Dockerfile copies from this folder's parent."""
    copied = [arguments.split() for arguments in given("COPY") if not arguments.startswith("--")]
    return [source for words in copied for source in words[:-1]]


def test_the_image_is_built_from_what_there_is() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    folders = {line.split("=")[1].strip().split("/")[0]
               for line in setup["options"]["package_dir"].splitlines() if "=" in line}  # fmt: skip
    files = {"setup.cfg", "pyproject.toml", setup["metadata"]["license_files"],
             setup["metadata"]["long_description"].removeprefix("file: ")}  # fmt: skip
    assert set(sources()) == folders | files
    assert all((ROOT / source).exists() for source in sources())
    extras = re.findall(r"'\.\[([\w,]+)\]'", " ".join(given("RUN")))
    assert [set(extra.split(",")) for extra in extras] == [
        {"collector", "postgres", "redis", "sealed"}
    ]
    assert set(extras[0].split(",")) <= set(setup["options.extras_require"])


def test_nothing_else_reaches_the_builder() -> None:
    lines = [line for line in text_of("Dockerfile.dockerignore").splitlines() if line[:1] != "#"]
    assert lines[0] == "*"
    assert [line[1:] for line in lines if line.startswith("!")] == sources()
    unwanted = [line.removeprefix("**/") for line in lines if line.startswith("**/")]
    for name in ("collector.db", "acme.2026-11-30.key", "__pycache__"):
        assert any(fnmatch(name, pattern) for pattern in unwanted), name


@pytest.mark.parametrize("name", compose()["services"])
def test_containers_may_do_little(name: str) -> None:
    service = compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ulimits"]["core"] == 0
    assert service["restart"] == "unless-stopped"
    assert service["mem_limit"] == service["memswap_limit"]
    assert {"cpus", "pids_limit", "networks"} <= set(service)
    assert not service.get("privileged")
    assert re.fullmatch(r"[\w/-]+(:[\w.-]+)?", service["image"])
    assert ":" in service["image"] or "build" in service
    assert "healthcheck" in service or "build" in service  # the image brings its own


def test_compose_names_only_what_it_declares() -> None:
    document = compose()
    services = document["services"]
    for name, service in services.items():
        assert set(service["networks"]) <= set(document["networks"]), name
        assert set(service.get("secrets", [])) <= set(document["secrets"]), name
        assert set(service.get("depends_on", [])) <= set(services), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            made = source in {"./surveys"}  # by the operator, as the file says
            assert made or source in document["volumes"] or (DEPLOY / source).is_file(), volume
    assert document["networks"]["inside"]["internal"] is True
    assert {name for name, service in services.items() if service.get("ports")} == {"caddy"}
    build = services["collector-1"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


def test_replicas_share_their_keys_apart_from_the_counts() -> None:
    services = compose()["services"]
    assert services["collector-1"] == services["collector-2"]
    mounts = {volume.split(":")[1]: volume.split(":")[0] for volume in
              services["collector-1"]["volumes"]}  # fmt: skip
    kept = mounts[str(parsed(COMMANDS["compose.yaml"])["keys"])]
    assert all(kept not in "".join(service.get("volumes", [])) for name, service in
               services.items() if not name.startswith("collector"))  # fmt: skip


def test_no_password_stands_in_the_clear() -> None:
    text = text_of("compose.yaml")
    assert not re.search(r"://[^@\s/]*:[^@\s/]+@", text)
    for service in compose()["services"].values():
        for name, value in service.get("environment", {}).items():
            assert "PASS" not in name or str(value).startswith("/run/secrets/"), name


def test_postgres_is_told_to_log_no_values_and_to_wait_for_the_disk() -> None:
    settings = compose()["services"]["postgres"]["command"]
    for setting in ("synchronous_commit=on", "log_statement=none", "log_error_verbosity=terse",
                    "log_min_error_statement=panic", "log_parameter_max_length=0",
                    "log_parameter_max_length_on_error=0"):  # fmt: skip
        assert f"-c{setting}" in settings


def test_the_database_is_made_for_a_role_that_is_no_superuser(postgres: Postgres) -> None:
    """The script runs as the image runs it, with a password that has to be quoted."""
    import psycopg

    password, script = postgres.folder / "password", postgres.folder / "init.sql"
    password.write_text("it's '; DROP", encoding="utf-8")
    text = text_of("postgres-init.sql")
    assert text.count("/run/secrets/collector-password") == 1
    script.write_text(
        text.replace("/run/secrets/collector-password", str(password)), encoding="utf-8"
    )
    try:
        postgres.run("psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={script}",
                     postgres.url())  # fmt: skip
        with closing(open_store(postgres.url("deniable", "deniable"))) as store:
            assert store.location
        roles = "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = %s"
        with psycopg.connect(postgres.url()) as connection:
            assert connection.execute(roles, ("deniable",)).fetchone() == (False,)
    finally:
        postgres.execute("DROP DATABASE IF EXISTS deniable")
        postgres.execute("DROP ROLE IF EXISTS deniable")
        password.unlink()
        script.unlink()


def test_valkey_keeps_nothing() -> None:
    command = compose()["services"]["valkey"]["command"]
    assert command[command.index("--save") + 1] == ""
    assert command[command.index("--appendonly") + 1] == "no"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_secrets_are_made_once_and_only_for_their_readers(tmp_path: Path) -> None:
    def make() -> dict[str, str]:
        script = ["sh", str(DEPLOY / "make-secrets.sh"), str(tmp_path / "secrets")]
        subprocess.run(script, check=True, stdout=subprocess.PIPE)
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    made = make()
    assert {Path(secret["file"]).name for secret in compose()["secrets"].values()} == set(made)
    password = made["collector-password"]
    assert re.fullmatch("[0-9a-f]{64}", password)
    assert made["pgpass"] == f"postgres:5432:deniable:deniable:{password}\n"
    assert made["postgres-password"] != password
    owners = {"pgpass": USER, "collector-password": 999, "postgres-password": 999}
    for name, owner in owners.items():
        status = (tmp_path / "secrets" / name).stat()
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (owner, 0o600)
    assert make() == made


UNITS = ["deniable-collector.service", "deniable-backup.service", "deniable-backup.timer"]


@pytest.mark.skipif(ENGINE is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        text = text_of(name).replace("/opt/deniable/bin/deniable-collector", "/bin/true")
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [ENGINE or "", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "tmp" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr


def test_the_service_survives_what_an_operator_does() -> None:
    service = unit("deniable-collector.service")["Service"]
    waits = parsed(COMMANDS["deniable-collector.service"])["stop_timeout"]
    assert float(service["TimeoutStopSec"]) > float(str(waits))
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["Restart"] == "on-failure"
    assert service["LimitCORE"] == "0"
    assert service["MemorySwapMax"] == "0"
    assert service["StateDirectoryMode"] == "0700"
    words = parsed(COMMANDS["deniable-collector.service"])
    kept = {f"/var/lib/{name}" for name in service["StateDirectory"].split()}
    assert kept == {os.path.dirname(str(words["store"])), str(words["keys"])}  # noqa: PTH120
    assert service["User"] == unit("deniable-backup.service")["Service"]["User"] != "root"


def test_the_backup_takes_no_keys() -> None:
    service = unit("deniable-backup.service")["Service"]
    assert "keys" not in " ".join(service.values())
    kept = {f"/var/lib/{name}" for name in service["StateDirectory"].split()}
    words = parsed(COMMANDS["deniable-backup.service"])
    assert str(words["store"]) == str(parsed(COMMANDS["deniable-collector.service"])["store"])
    assert kept == {"/var/lib/deniable", "/var/lib/deniable-backups"}


def test_the_page_for_operators_names_every_file() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for path in FILES:
        assert f"../deploy/{path.name}" in page, path.name
    assert f"--port {PORT}" in page


def test_the_page_for_operators_explains_every_meter_and_check(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| `(deniable_\w+)(?:\{[\w,]+\})?` \|", page, re.MULTILINE))
    text = Metrics().text(Standing({}, 0, 0.0, {})).decode()
    kinds = dict(re.findall(r"^# TYPE (deniable_\w+) (\w+)$", text, re.MULTILINE))
    assert table == {name for name in kinds if not name.endswith("_created")}
    with closing(Collector(Config(store=str(tmp_path / "collector.db")))) as collector:
        checks = set(checks_of(collector))
    told = page.partition("`/readyz` is 200 when the checks ")[2].partition(" pass")[0]
    assert set(re.findall(r"`(\w+)`", told)) == checks
