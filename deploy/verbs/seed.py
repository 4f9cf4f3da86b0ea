"""``seed``: give a crawl its first URLs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from deploy.egg import project_root
from deploy.environment import redis_url
from deploy.errors import DeployError, UsageError
from deploy.fleet import load_fleet, seeds_key
from deploy.output import say
from deploy.seed import push_seeds, redis_client
from spiders_project.seeds.writer import read_entries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from spiders_project.seeds.writer import Kind


@click.command("seed")
@click.argument("spider")
@click.argument("urls", nargs=-1, metavar="[URL|-]...")
@click.option("--file", "file", type=click.File("rb"), help="One seed a line, URL or JSON object.")
@click.option("--key", help="The Redis key; default SPIDER:start_urls, or what fleet.toml says.")
@click.option(
    "--as", "kind", type=click.Choice(["list", "set", "zset"]), help="Type of the key; default: its own, or list."
)
def seed_command(
    *, spider: str, urls: tuple[str, ...], file: BinaryIO | None, key: str | None, kind: Kind | None
) -> None:
    """Push seeds of SPIDER to Redis (REDIS_URL, or the embedded stack); `-` reads them from stdin.

    A seed is a URL or a JSON object (docs/seeds.md); lines that begin with # are comments. What is no seed
    is reported and not pushed, the others are; the exit code is 1 then.

    \b
    Examples:
      python -m deploy seed site https://example.org/
      python -m deploy seed site '{"url": "https://example.org/", "priority": 5}'
      python -m deploy seed site --file seeds.txt
      zcat seeds.gz | python -m deploy seed site -
    """
    if bool(urls) == bool(file):
        raise UsageError("name seeds, or --file FILE, or - for stdin")
    stream = sys.stdin.buffer if urls == ("-",) else file
    entries: Iterable[str | bytes] = urls if stream is None else read_entries(stream)
    root = project_root()
    client = redis_client(redis_url(root))
    declared = load_fleet(root).crawls.get(spider)
    key = key or (seeds_key(declared) if declared else f"{spider}:start_urls")
    try:
        report = push_seeds(client, key, entries, kind)
    finally:
        client.close()
    for refusal in report.refused:
        say(f"refused entry {refusal.line}, {refusal.entry!r}: {refusal.reason}")
    click.echo(f"{report.pushed} pushed to {key}, {report.refused_count} refused")
    if report.refused_count:
        raise DeployError(f"{report.refused_count} of {report.pushed + report.refused_count} entries are no seeds")
