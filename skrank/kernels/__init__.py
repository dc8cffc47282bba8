"""Kernels on full and partial rankings."""
