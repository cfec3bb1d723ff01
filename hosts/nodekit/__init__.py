"""The node kit: what Throughline runs on a node, standard library only, Python 3.8 or newer.

It travels as one zipapp (`hosts/kit.py` builds it) and is called as `python3 KIT COMMAND`. See
docs/node-kit.md for the commands; each lives in a file of its own here.
"""

VERSION = 1
