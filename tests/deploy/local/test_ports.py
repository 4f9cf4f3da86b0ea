"""Ports of servers: free, and out of reach of the kernel's own choice, also while their server restarts."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from deploy.local import processes

if TYPE_CHECKING:
    from pathlib import Path


def kernel_ports() -> range:
    low, high = (int(word) for word in processes.KERNEL_PORTS.read_text().split())
    return range(low, high + 1)


def test_a_server_gets_no_port_that_the_kernel_may_give_to_a_connection() -> None:
    ports = {processes.free_port() for _ in range(50)}
    assert len(ports) > 40
    assert not ports & set(kernel_ports())
    assert all(processes.is_free(port) for port in ports)


@pytest.mark.parametrize(
    ("said", "allowed"),
    [
        ("32768\t60999\n", range(10_000, 32_768)),
        ("10500 20000", range(20_001, 65_536)),
        ("1024 65535", range(1024, 65_536)),  # there is no room beside it
        ("", range(10_000, 32_768)),
    ],
)
def test_the_port_lies_beside_the_range_of_this_kernel(
    said: str, allowed: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "ip_local_port_range"
    told.write_text(said)
    monkeypatch.setattr(processes, "KERNEL_PORTS", told)
    assert {processes.free_port() for _ in range(20)} <= set(allowed)


def test_a_port_that_is_in_use_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not processes.is_free(taken.getsockname()[1])
