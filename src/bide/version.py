"""The version of bide, here alone."""

VERSION = "0.1.0"
