"""Displays that plot rankings and fitted estimators."""
