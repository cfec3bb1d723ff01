"""Caveats that stand in a pasted text alone: one rule a file, a paste in, a finding out. Pure."""
