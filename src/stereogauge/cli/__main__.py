"""`python -m stereogauge.cli`."""

from stereogauge.cli import main

main()
