"""A simulated SGLang server: real flags, log lines and HTTP answers, speeds from a model.

Standard library only, Python 3.8 and newer, relative imports only: the demo node copies this
folder into its home and runs it there. docs/simulated-engine.md tells what it does and does not.
"""
