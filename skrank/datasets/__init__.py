"""Embedded data, readers and writers of ranking files, and generators."""
