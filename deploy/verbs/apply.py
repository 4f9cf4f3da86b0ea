"""``apply``: make the cluster run what fleet.toml declares."""

from __future__ import annotations

import sys

import click

from deploy.apply import Step, apply, plan
from deploy.control import Control
from deploy.errors import UsageError
from deploy.output import print_json, print_table, say
from deploy.supervisor.records import read_seen
from deploy.verbs import json_option
from deploy.verbs.settling import settle

_SECONDS = 30.0


@click.command("apply")
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def apply_command(*, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Show what must change for the cluster to run what fleet.toml declares, and change it.

    Crawls that a timer or `after` starts are only registered; a crawl whose run is done is not begun again.

    \b
    Examples:
      python -m deploy apply --dry-run
      python -m deploy apply --yes
    """
    control = Control.open()
    steps = plan(control.fleet(), control.crawls.all())
    if as_json:
        print_json([{"crawl": step.crawl, "action": step.action, "why": step.why} for step in steps])
    else:
        print_table(("crawl", "action", "why"), [(step.crawl, step.action, step.why) for step in steps])
    changes = [step for step in steps if step.action != "keep"]
    if not changes:
        say("nothing to change")
    if dry_run or not changes:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nobody can be asked here: --yes makes it so, --dry-run only shows it")
        click.confirm("Make it so?", abort=True, err=True)
    for spider in sorted({step.spec.spider for step in changes if step.spec}):
        control.check_spider(spider, "")
    apply(changes, control.crawls)
    _see(control, changes)


def _see(control: Control, changes: list[Step]) -> None:
    """Until what is started has been placed as far as there is room, and what is stopped has been told."""
    since = control.crawls.now()
    names = {step.crawl for step in changes if step.action in {"start", "restart", "change"}}

    def done() -> bool:
        seen = read_seen(control.client)
        return all(name in seen and seen[name].at > since for name in names)

    settle(control, done, _SECONDS)
    seen = read_seen(control.client)
    for name in sorted(names):
        for problem in seen[name].problems if name in seen else ["no supervisor has seen it yet"]:
            say(f"{name}: {problem}")
