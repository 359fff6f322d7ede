"""Folders of this machine, also those of file servers that are mounted here."""
