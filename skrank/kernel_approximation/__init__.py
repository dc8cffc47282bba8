"""Explicit feature maps that approximate kernels on rankings."""
