"""Which reading of texts this is: stored with each log, so that it can be read again by a newer."""

# Raise it whenever a reader gives other samples, events or results for the same bytes.
PARSER_VERSION = 5
