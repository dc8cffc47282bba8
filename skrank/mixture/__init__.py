"""Mixtures of Mallows models."""
