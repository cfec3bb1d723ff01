"""Rules about the arms of a comparison: what only shows when they stand side by side. Pure."""
