"""`python -m skrank SUBCOMMAND`, also installed as `skrank`: what a library can show without being programmed."""

import argparse
import os
import sys
import warnings
from importlib import import_module

from skrank import __version__
from skrank._commands import _output
from skrank._commands._text import one_line, with_flags

# Each command is a module of skrank._commands with HELP (one sentence), EPILOG (examples and what --json holds),
# add_arguments(parser) and run(arguments), which returns a Result.
COMMANDS = ("report", "mixture", "cluster", "test", "compare", "triplets", "study")
DESCRIPTION = """\
Analyze files of rankings: ballots, top-k lists, ratings and comparisons.

Without a subcommand, it reports on a file; without a file, it reports on the ballots of
the 1980 presidential election of the American Psychological Association."""
EPILOG = """\
examples:
  {prog}                                    the report on a real election
  {prog} votes.soi --unranked last          the report on a file
  {prog} report --help                      what a subcommand does, with examples

A file of rankings is a PrefLib file, a SUSHI .order file, or a table (CSV, xlsx, ods), such as exports of survey
tools. A table contains ranks (a column for each item, lower is preferred), --scores (higher is preferred) or
orderings (items, best first). The output says how each column was interpreted; ambiguous files are an error."""


class Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of its texts and whose errors are one line."""

    def __init__(self, **options):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options)

    def error(self, message):
        self.exit(2, f"{self.prog}: {one_line(message)} (help: {self.prog} --help)\n")


def main(argv=None):
    """Run one subcommand, print what it found and return the exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except BrokenPipeError:
        # The reader, `head` say, has seen enough. What is left unwritten must not be tried again at exit.
        _discard_output()
        return 0
    except OSError as error:  # a full disk, say
        _discard_output()
        print(f"{_program()}: standard output: {error.strerror}", file=sys.stderr)
        return 2


def _discard_output():
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv):
    prog = _program()
    parser = _parser(prog)
    if argv and argv[0] not in COMMANDS and (argv[0] == "-" or os.path.isfile(argv[0])):
        argv = ["report", *argv]
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        arguments = parser.parse_args(["report"])
    try:
        if arguments.plot:
            _output.check_plot(arguments.plot)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = import_module(f"skrank._commands.{arguments.command}").run(arguments)
            if arguments.plot:
                look = {"title": arguments.plot_title, "dpi": arguments.dpi, "size": arguments.size}
                _output.save_plot(result, arguments.plot, **look)
        result.figures["notes"] += _output.notes(caught)
        text = _output.as_json(result.figures) if arguments.json else _output.as_text(result.figures, result.write)
    except (OSError, ValueError, MemoryError) as error:
        print(f"{prog} {arguments.command}: {_message(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{prog} {arguments.command}: interrupted", file=sys.stderr)
        return 130
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack an item's letters
    print(text, flush=True)
    return result.code


def _program():
    """How this program was called."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return "skrank" if name == "skrank" else "python -m skrank"


def _parser(prog):
    parser = Parser(prog=prog, description=DESCRIPTION, epilog=EPILOG.format(prog=prog))
    parser.add_argument("--version", action="version", version=f"skrank {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="SUBCOMMAND", title="subcommands")
    for name in COMMANDS:
        command = import_module(f"skrank._commands.{name}")
        epilog = command.EPILOG.format(prog=f"{prog} {name}")
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.HELP, epilog=epilog)
        command.add_arguments(subparser)
        if not hasattr(command, "HAS_STEPS"):
            _output.add_arguments(subparser)
    return parser


def _message(error):
    """An error in one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'the data are too large'})"
    return one_line(with_flags(str(error)))


if __name__ == "__main__":
    sys.exit(main())
