"""How a machine is reached. ``protocol`` says what a connection can do, ``ssh`` does it.

Nothing is imported here, so that models may use ``protocol`` without loading an SSH library.
"""
