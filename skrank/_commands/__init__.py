"""The subcommands of `python -m skrank`."""
