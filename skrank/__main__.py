"""`python -m skrank SUBCOMMAND`: what a library can show without being programmed."""

import argparse
import os
import sys
from importlib import import_module

# Each command is a module of skrank._commands with HELP, add_arguments(parser) and run(arguments) -> text.
COMMANDS = ("report", "mixture", "triplets")


def main(argv=None):
    """Run one subcommand, print its text and return the exit code; without arguments: the report on the APA ballots."""
    parser = argparse.ArgumentParser(prog="python -m skrank", description="scikit-learn for rankings.")
    subparsers = parser.add_subparsers(dest="command", metavar="SUBCOMMAND")
    commands = {name: import_module(f"skrank._commands.{name}") for name in COMMANDS}
    for name, command in commands.items():
        command.add_arguments(subparsers.add_parser(name, help=command.HELP, description=command.HELP))
    arguments = parser.parse_args(sys.argv[1:] if argv is None else argv)
    if arguments.command is None:
        arguments = parser.parse_args(["report"])
    try:
        text = commands[arguments.command].run(arguments)
    except (OSError, ValueError) as error:
        print(f"python -m skrank {arguments.command}: {error}", file=sys.stderr)
        return 2
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader, `head` say, has seen enough. What is left unwritten must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
