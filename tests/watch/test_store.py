"""Windows and alerts in real databases: SQLite, DuckDB, and a PostgreSQL of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from jeton.errors import MissingExtraError, UsageError
from jeton.watch import Monitor, WatchedRequest
from jeton.watch.run import Outputs, WatchRun
from jeton.watch.store import open_store
from jeton.watch.windows import WatchSums


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a server without a port, at a socket in a folder of its own."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="jeton-pg"))
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    if user is not None:
        shutil.chown(folder, user)

    def run(program: str, *words: str) -> None:
        subprocess.run(
            [str(programs / program), "-D", str(folder / "data"), *words], user=user, cwd=folder,
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    try:
        run("initdb", "-U", "jeton", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
        yield f"postgresql:///postgres?host={folder}&user=jeton"
        run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres")
        return found
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
    return f"{request.param}:{tmp_path / 'history.db'}"


def test_windows_and_alerts_are_kept_and_exported(
    loud: Monitor, tmp_path: Path, address: str
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    with open_store(address) as store:
        store.add_window(loud.sums, first_request=0, last_request=9, ended_at=None)
        store.add_alert(loud.alerts[0])
    with open_store(address) as store:
        names, rows = store.windows()
        store.write_parquet(tmp_path / "windows.parquet")
        with store._cursor() as cursor:
            cursor.execute("SELECT cause FROM jeton_alerts")
            assert cursor.fetchall() == [("preprocessing",)]
    assert sum(row[names.index("n_requests")] for row in rows) == loud.n_requests
    table = pq.read_table(tmp_path / "windows.parquet").to_pydict()
    assert sum(table["n_tokens"]) == loud.sums.total().n_tokens


def test_a_window_is_kept_whole_or_not_at_all(loud: Monitor, address: str) -> None:
    with open_store(address) as store:
        before = len(store.windows()[1])
        broken = WatchSums(dict(loud.sums.groups))
        group, sums = next(iter(broken.groups.items()))
        broken.groups["z", *group[1:]] = type(sums)(n_tokens=1 << 80)
        with pytest.raises(OSError, match="failed"):
            store.add_window(broken, first_request=0, last_request=9, ended_at=None)
        # It goes on with a new connection.
        assert len(store.windows()[1]) == before


def test_a_watch_goes_on_without_its_store(postgres: str) -> None:
    said: list[str] = []
    with open_store(postgres) as store:
        monitor = Monitor()
        run = WatchRun(monitor, Outputs(store=store, complain=said.append))
        with store._cursor() as cursor:
            cursor.execute("ALTER TABLE jeton_windows RENAME TO elsewhere")
        monitor.observe(WatchedRequest(n_tokens=5))
        run.finish()
    assert "failed: relation" in said[0]


def test_addresses_that_are_no_store(tmp_path: Path) -> None:
    for bad in ("mysql:x", "sqlite:", "history.db"):
        with pytest.raises(UsageError, match="names no store"):
            open_store(bad)
    with pytest.raises(OSError, match="failed"):
        open_store(f"sqlite:{tmp_path / 'no' / 'history.db'}")
    kind: type[Exception] = OSError if find_spec("psycopg") else MissingExtraError
    with pytest.raises(kind, match="store") as raised:
        open_store("postgresql://user:secret@127.0.0.1:9/x")
    assert "secret" not in str(raised.value)
