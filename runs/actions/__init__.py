"""Verbs that change several tables: keyword-only, ``by=`` a person, one transaction each."""
