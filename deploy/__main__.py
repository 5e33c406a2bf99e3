"""The command line: finds and runs the command, and converts errors to an exit status."""

from __future__ import annotations

import sys

try:
    import errno
    import os
    import re
    import signal
    import traceback
    from collections.abc import Sequence
    from contextlib import ExitStack

    from aot.errors import DeployError, MachineError, did_you_mean
    from codegen.version import VERSION
    from deploy.cli.command import PROGRAM, command_parser, load_command, top_help
    from deploy.cli.commands import COMMANDS
    from deploy.cli.console import print_error, progress_hidden
    from deploy.cli.docs_pages import error_pages, shown
    from deploy.cli.parser import Parser, UsageError
    from deploy.cli.process_trace import command_lines_shown
    from deploy.cli.terminal_width import fitted, spell_out_what_cannot_be_shown, terminal_columns
except KeyboardInterrupt:  # loading may be slow enough to be interrupted
    print("interrupted", file=sys.stderr)
    raise SystemExit(130) from None

FINE = 0
USERS_PROBLEM = 1
WRONG_USAGE = 2
OUR_BUG = 70  # EX_SOFTWARE in sysexits.h
INTERRUPTED = 130  # shell convention: 128 + SIGINT
READER_GONE = 141  # 128 + SIGPIPE
# Problems of the machine that may occur anywhere: disk space, memory, permissions, open files.
_LACKS = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE)
_COMPLETES = "_ARGCOMPLETE"  # environment variable set by a shell that requests completions
_ERROR_CODE = re.compile(r"[eE]\d{3}")
_interrupts: list[int] = []  # SIGINTs received by this process
_HELP = ("-h", "--help", "help")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns the exit status."""
    try:
        if argv is None:  # a separate process, not a call from Python
            _end_in_order()
            signal.signal(signal.SIGINT, _interrupted)
            spell_out_what_cannot_be_shown()
        status = _run(list(sys.argv[1:] if argv is None else argv))
        if argv is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done; Python's exit may be slow
    except UsageError as error:
        print_error(shown(error))
        status = WRONG_USAGE
    except DeployError as error:
        print_error(shown(error))
        status = USERS_PROBLEM
    except KeyboardInterrupt:
        status = _report_interrupt()
    except BrokenPipeError:
        # stdout was closed, as in `deploy ... | head`. Otherwise Python would report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = READER_GONE
    except OSError as error:
        status = _report_machine(error)
    except MemoryError:
        print_error(shown(MachineError("this computer does not have enough memory for this command")))
        status = USERS_PROBLEM
    except Exception:  # any other exception is a bug in this program
        # NumPy turns an interrupt during its import into an ImportError.
        status = _report_interrupt() if _interrupts else _report_bug()
    return status


def _end_in_order() -> None:
    """Handles a closed terminal or `timeout` like Ctrl-C: stops emulators and releases locks."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), _ended)


def _interrupted(number: int, frame: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def _ended(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _run(argv: list[str]) -> int:
    if _COMPLETES in os.environ:
        from deploy.cli.completion import answer

        answer()
    if not argv:
        print(top_help(), end="", file=sys.stderr)
        return WRONG_USAGE
    name, *rest = argv
    if name in _HELP:
        return _help(rest)
    if name == "--version":
        print(f"{PROGRAM} {VERSION}")
        return FINE
    if name not in COMMANDS:
        raise _unknown(name)
    return _run_command(name, rest)


def _run_command(name: str, rest: list[str]) -> int:
    command = load_command(name)
    parser = command_parser(name, command)
    if not {"-h", "--help"} & {*rest}:
        _take_project_file(parser, rest)
    arguments = parser.read(rest)
    with ExitStack() as shows:
        if arguments.verbose:
            shows.enter_context(command_lines_shown())
        if arguments.quiet:
            shows.enter_context(progress_hidden())
        command.run(arguments)
    sys.stdout.flush()  # detects a closed stdout here
    return FINE


def _take_project_file(parser: Parser, words: list[str]) -> None:
    """Sets the values of a project file as defaults of a command about a model."""
    from deploy.cli.project_file import (  # loading options is slow
        find_project_file,
        model_argument,
        take_project_file,
    )

    if model_argument(parser) is None:
        return
    project = find_project_file()
    if project is not None:
        take_project_file(parser, words, project)


def _help(names: list[str]) -> int:
    if not names or names[0] in _HELP:
        print(top_help(), end="")
        return FINE
    if _ERROR_CODE.fullmatch(names[0]):
        print(fitted(_error_page(names[0].upper()), terminal_columns()))
        return FINE
    if names[0] not in COMMANDS:
        raise _unknown(names[0])
    print(command_parser(names[0], load_command(names[0])).format_help(), end="")
    return FINE


def _error_page(code: str) -> str:
    pages = error_pages()
    if code not in pages:
        raise UsageError(
            f"there is no error {code}{did_you_mean(code, pages)}", hint=f"known: {', '.join(pages)}"
        )
    return str(pages[code])


def _unknown(name: str) -> UsageError:
    return UsageError(
        f'command "{name}" is not known{did_you_mean(name, COMMANDS)}', hint=f"known: {', '.join(COMMANDS)}"
    )


def _report_interrupt() -> int:
    exec("")  # otherwise Python ends with the signal if it interrupted another exec of a string
    print("interrupted", file=sys.stderr)
    return INTERRUPTED


def _report_machine(error: OSError) -> int:
    """Reports a machine problem such as a full disk, wherever it occurred; else a bug."""
    if error.errno not in _LACKS:
        return _report_bug()
    print_error(shown(MachineError(os.strerror(error.errno), str(error.filename or ""))))
    return USERS_PROBLEM


def _report_bug() -> int:
    from deploy.compiler.accelerator_errors import extension_error  # needed only here

    traceback.print_exc()
    error = sys.exc_info()[1]
    blamed = None if error is None else extension_error(error)
    if blamed is not None:
        print_error(f"\n{shown(blamed)}")
        return USERS_PROBLEM
    print(
        f"\nThis is a bug in Solder {VERSION}, not a mistake of yours.\n"
        "Please report it with the lines above and the output of `deploy bug-report -- YOUR COMMAND LINE`.",
        file=sys.stderr,
    )
    return OUR_BUG


if __name__ == "__main__":
    sys.exit(main())
