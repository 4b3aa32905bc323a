"""`python -m bide` is the command line."""

import sys

from bide.cli.main import main

sys.exit(main())
