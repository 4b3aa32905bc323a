"""Behaviours that are not checked, with the reason (99, 164, 180)."""

from __future__ import annotations

from seeds.registry import POLICY, skip

skip([99, 164, 180], POLICY)
