"""``python -m deploy``."""

from deploy.cli import main

main()
