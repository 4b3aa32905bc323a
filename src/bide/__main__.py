"""`python -m bide` is the command line."""

import sys

from bide.cli.entry import main

sys.exit(main())
