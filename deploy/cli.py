"""The command line: one group, its verbs, and the one place where an exception becomes an exit code."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

import click

from deploy.errors import DeployError
from deploy.local.commands import down, up
from deploy.verbs.apply import apply_command
from deploy.verbs.crawl import crawl_command
from deploy.verbs.fleet import restart_command, scale_command, stop_command, wait_command
from deploy.verbs.jobs import cancel_command, schedule_command
from deploy.verbs.nodes import check_command, drain_command, nodes_command, targets
from deploy.verbs.records import history_command, jobs_command, logs_command
from deploy.verbs.release import push_command, rollback_command
from deploy.verbs.seed import seed_command
from deploy.verbs.start import start_command
from deploy.verbs.status import status_command
from deploy.verbs.supervise import supervise_command
from deploy.verbs.timers import timers_group
from deploy.verbs.versions import delete_command, prune_command, versions_command, withdraw_command

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_UNEXPECTED = 3
EXIT_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Release spiders to Scrapyd nodes, run crawls on them, and look after both.

    \b
    Exit codes: 0 done, 1 it failed (anywhere), 2 wrong use, 3 unexpected,
    4 cannot connect, 130 interrupted.
    """


for command in (
    *(up, down, status_command),
    *(push_command, rollback_command, versions_command, prune_command, delete_command, withdraw_command),
    *(apply_command, start_command, stop_command, scale_command, restart_command, wait_command, supervise_command),
    *(targets, nodes_command, drain_command, check_command),
    *(schedule_command, jobs_command, cancel_command, seed_command, crawl_command),
    *(logs_command, history_command, timers_group),
):
    cli.add_command(command)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with the documented code."""
    try:
        code = cli.main(args=args, prog_name="python -m deploy", standalone_mode=False)
    except DeployError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except Exception:  # noqa: BLE001 - the ladder's last rung: a bug, shown whole
        traceback.print_exc()
        sys.exit(EXIT_UNEXPECTED)
    sys.exit(code if isinstance(code, int) else 0)
