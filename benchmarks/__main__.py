"""``python -m benchmarks``; exit codes: 0 all budgets hold, 1 not, or disturbed, 2 wrong use, 130 interrupted."""

from benchmarks.cli import main

main()
