"""The command line: which groups run, and what becomes of their rows."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from benchmarks import machine, table
from benchmarks.bench import Bench
from benchmarks.errors import BenchError
from benchmarks.groups import GROUPS, ON_DEMAND
from benchmarks.results import write_json
from deploy.errors import DeployError

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def title(group: object) -> str:
    """What a group measures, in a line."""
    return (group.__doc__ or "").partition("\n")[0]


EPILOG = "groups:\n" + "\n".join(f"  {name:12}{title(group)}" for name, group in GROUPS.items())


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; exits with 2 on wrong use."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="What this crawler costs, side by side with what people use today.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="measure less: under six minutes instead of thirty")
    parser.add_argument("--only", default="", metavar="GROUP[,GROUP]", help="only these groups")
    parser.add_argument(
        "--pages", type=int, default=0, metavar="N", help="pages of the site that throughput is measured on"
    )
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md, too")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="where the rows are kept")
    options = parser.parse_args(arguments)
    options.groups = options.only.replace(",", " ").split() or [name for name in GROUPS if name not in ON_DEMAND]
    for name in options.groups:
        if name not in GROUPS:
            parser.error(f"there is no group {name!r}: {', '.join(GROUPS)}")
    return options


def run_groups(bench: Bench, names: Sequence[str]) -> None:
    """Run groups one after the other; one that fails is noted, and keeps no other from running."""
    for name in names:
        started = time.monotonic()
        print(f"{name}: {title(GROUPS[name])}", file=sys.stderr, flush=True)
        try:
            with bench.watch.during(name):
                GROUPS[name].run(bench)
        except (BenchError, DeployError) as error:
            bench.note(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - the rows of the other groups are worth an hour
            traceback.print_exc()
            bench.note(f"{name}: {error!r}")
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Measure, show, keep; exits with 1 unless every row is ok and nothing disturbed."""
    options = parse(arguments)
    machine.pin_down()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts with & ignore it
    directory = Path(tempfile.mkdtemp(prefix="bench-"))
    directory.chmod(0o711)  # nginx's workers may not be ours
    bench = Bench(directory, quick=options.quick, pages=options.pages)
    interrupted = False
    try:
        run_groups(bench, options.groups)
    except KeyboardInterrupt:
        interrupted = True
        bench.note("interrupted: the groups that follow were not measured")
    finally:
        bench.close()
        shutil.rmtree(directory, ignore_errors=True)
    described, versions = machine.describe(), machine.versions()
    table.show(bench.rows)
    write_json(options.json, described, versions, bench.rows, bench.watch.notes)
    print(f"kept in {options.json}", file=sys.stderr)
    if options.docs and not interrupted:
        table.write_page(PAGE, table.markdown(bench.rows, described, versions, bench.watch.notes))
    for note in bench.watch.notes:
        print(f"not to be relied on: {note}", file=sys.stderr)
    if interrupted:
        sys.exit(EXIT_INTERRUPTED)
    sys.exit(EXIT_FAILED if bench.watch.notes or not all(row.ok for row in bench.rows) else 0)
