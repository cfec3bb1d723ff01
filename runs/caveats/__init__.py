"""One rule a file: facts in, a finding out. A rule fires on measured evidence only. Pure."""
