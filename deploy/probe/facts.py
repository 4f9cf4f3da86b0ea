"""Runs on a node, as the settings of an egg whose spiders Scrapyd lists: prints one line of JSON, and ends.

It needs nothing but the standard library and Scrapyd, so that a node without our packages can say so.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrapyd.config import Config

_DIRECTORIES = ("eggs_dir", "logs_dir", "dbs_dir")


def facts() -> dict[str, Any]:
    """What the node is like; ``deploy.check.Facts`` says what each name means."""
    config = Config()
    return {
        "python": platform.python_version(),
        "unmet": _unmet(),
        "time": time.time(),
        "node_name": os.environ.get("NODE_NAME", ""),
        "root": hasattr(os, "geteuid") and os.geteuid() == 0,
        "project": getattr(find_spec("spiders_project"), "origin", None),
        "bind_address": os.environ.get("SCRAPYD_BIND_ADDRESS") or config.get("bind_address", "127.0.0.1"),
        "max_proc": config.getint("max_proc", 0) or multiprocessing.cpu_count() * config.getint("max_proc_per_cpu", 4),
        "jobstorage": config.get("jobstorage", ""),
        "jobs_to_keep": config.getint("jobs_to_keep", 5),
        "finished_to_keep": config.getint("finished_to_keep", 100),
        "free_bytes": min(_free(config.get(name, ".")) for name in _DIRECTORIES),
    }


def _unmet() -> list[str]:
    egg = Path(globals()["__loader__"].archive)
    try:
        from node_probe.requirements import unmet_by  # type: ignore[import-not-found]  # noqa: PLC0415 - its name in the egg
    except ImportError as error:
        return [f"lacks {error.name}"]
    found: list[str] = unmet_by(egg)
    return found


def _free(directory: str) -> int:
    path = Path(directory or ".").absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


if __name__ == "node_probe.facts":
    print(json.dumps(facts()))  # noqa: T201 - this is what Scrapyd hands over
    sys.exit()
