"""The Mallows distribution, consensus rankings and two-sample tests."""
