"""The machine, the programs on it, and what else it does while we measure."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.site_server import SBIN
from deploy.errors import DeployError
from deploy.local import binaries

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (
    *("scrapy", "scrapy-redis", "scrapyd", "scrapyd-client", "twisted", "redis", "pymongo", "msgpack"),
    *("celery", "requests", "uvloop", "lxml"),
)
#: Cores that other programs may take on average while we measure.
MOST_OTHER_LOAD = 0.15
#: By this share the clock may fall.
MOST_SLOWDOWN = 0.15
#: Shorter looks say nothing: the kernel counts CPU time in hundredths of a second.
LEAST_SECONDS = 2.0
_NUMBER = re.compile(r"\d+\.\d+")


def describe() -> dict[str, Any]:
    """What the figures were measured on."""
    memory = psutil.virtual_memory()
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory_bytes": memory.total,
        "system": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
    }


def versions() -> dict[str, str]:
    """Programs and packages that take part, with the allocators of the servers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    with suppress(DeployError):
        found["redis-server"] = _redis_version(binaries.redis_server())
    with suppress(DeployError):
        found["mongod"] = _mongod_version(binaries.mongod())
    if nginx := shutil.which("nginx", path=SBIN):
        found["nginx"] = _said([nginx, "-v"]).rpartition("/")[2].strip()
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _redis_version(binary: Path) -> str:
    said = _said([str(binary), "--version"])
    parts = dict(part.partition("=")[::2] for part in said.split() if "=" in part)
    return f"{parts.get('v', '?')} ({parts.get('malloc', 'unknown allocator')})"


def _mongod_version(binary: Path) -> str:
    said = _said([str(binary), "--version"])
    number = re.search(r"db version v(\S+)", said)
    allocator = re.search(r'"allocator": "(\w+)"', said)
    return f"{number[1] if number else '?'} ({allocator[1] if allocator else 'unknown allocator'})"


def _said(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


@dataclass(frozen=True)
class Look:
    """The machine at one moment; seconds of CPU time since it started."""

    at: float
    busy: float
    stolen: float
    own: float
    swapped: int
    hertz: float

    @classmethod
    def now(cls) -> Look:
        """Look now."""
        times = psutil.cpu_times()
        stolen = getattr(times, "steal", 0.0)
        busy = sum(
            getattr(times, name) for name in ("user", "system", "nice", "irq", "softirq") if hasattr(times, name)
        )
        swap = psutil.swap_memory()
        frequency = psutil.cpu_freq()
        return cls(
            time.monotonic(), busy, stolen, _own_cpu(), swap.sin + swap.sout, frequency.current if frequency else 0.0
        )


def _own_cpu() -> float:
    """CPU time of this process and of all that it has started, also of what has ended."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def disturbances(before: Look, after: Look) -> list[str]:
    """What else the machine did between two looks, in words; nothing where it was quiet."""
    found = []
    seconds = after.at - before.at
    if after.swapped > before.swapped:
        found.append(f"{(after.swapped - before.swapped) / 1e6:.0f} MB were swapped")
    if seconds >= LEAST_SECONDS:
        other = (after.busy - before.busy - (after.own - before.own)) / seconds
        if other > MOST_OTHER_LOAD:
            found.append(f"other programs took {other:.2f} cores")
        stolen = (after.stolen - before.stolen) / seconds
        if stolen > MOST_OTHER_LOAD:
            found.append(f"other machines on this hardware took {stolen:.2f} cores")
    if before.hertz and after.hertz < before.hertz * (1 - MOST_SLOWDOWN):
        found.append(f"the processor slowed down from {before.hertz:.0f} to {after.hertz:.0f} MHz")
    return found


@dataclass
class Watch:
    """Gathers disturbances over a bench run, each said once for what it disturbed."""

    _notes: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """All, in the order in which they came."""
        return list(self._notes.values())

    def note(self, text: str) -> None:
        """Remember a disturbance, and say it, unless one that differs in numbers only is known."""
        kind = _NUMBER.sub("", text)
        if kind not in self._notes:
            self._notes[kind] = text
            print(f"  disturbed: {text}", file=sys.stderr, flush=True)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Look before and after the block."""
        before = Look.now()
        yield
        for found in disturbances(before, Look.now()):
            self.note(f"{what}: {found}")


def pin_down() -> None:
    """Nothing of the operator's environment reaches what is measured."""
    for name in ("REDIS_URL", "MONGO_URI", "MONGO_DATABASE", "SCRAPY_SETTINGS_MODULE", "PYTHONPATH"):
        os.environ.pop(name, None)
