"""`python -m stereogauge`."""

from stereogauge.cli import main

main()
