"""`python -m wevent`: the same as the command `wevent`."""

from __future__ import annotations

import sys

from wevent.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
