"""The verbs of the embedded stack."""

from __future__ import annotations

import click


@click.command()
def up() -> None:
    """Start the embedded stack."""


@click.command()
def down() -> None:
    """Stop the embedded stack, and only it."""


@click.command()
def status() -> None:
    """Show what of the embedded stack runs."""
