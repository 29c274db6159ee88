"""The ``overread`` command: one file per sub-command, each imported only when it is called."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from cyclopts import App, CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError

from overread import __version__
from overread._terminal import print_text
from overread.errors import MissingExtraError, OverreadError, StorageError, UsageError, find_extra

app = App(
    name="overread",
    version=__version__,
    help="From the marks of many radiologists to soft labels, a compact detector and an honest account of it.",
    help_format="plaintext",
)
"""All commands, for those who call them from Python or list them."""
# Three lines a command: its name and place under overread, what it does, an example. Apps stand here as text: nothing
# imports them.
COMMANDS = """\
demo cli.demo:demo
    Simulate a small study, run all of it, and show the report.
    overread demo --open
merge cli.merge:merge
    Merge the readers' marks into ground-truth objects with soft labels.
    overread merge my_study -o truth.parquet --figure marks.png --image case-07
readers cli.readers:readers
    Show how the readers read: sensitivity, false positives, agreement.
    overread readers my_study --figure readers.png
import cli.import_marks:import_marks
    Turn a spreadsheet or another tool's marks into tables of marks, readings and images.
    overread import marks.xlsx --xy corner --unit px --all-read-all --output my_study
export cli.export_marks:export_marks
    Write marks and readings in another tool's format.
    overread export study --output for_label_studio --members R1=ann@x.org,R2=bob@x.org
check cli.check:check
    List every problem of a study's tables, by file and row.
    overread check study
init cli.init:init
    Make a study out of a folder of images: images.csv and a commented study.toml.
    overread init my_study --drop duplicate,lateral
run cli.run:run
    Run a study: from images and marks to three models and how good they are.
    overread run my_study
report cli.report:report
    Write the page of a finished run again, from its results.
    overread report my_study/runs/main --figures figures
froc cli.froc:froc
    Show how good a detector is: sensitivity against false positives per image, with intervals.
    overread froc detections.csv truth.csv --n-images 300 --figure froc.png
compare cli.compare:compare
    Say whether two models can be told apart on the same images.
    overread compare ours.json theirs.json truth_coco.json --mm-per-px 0.143
plan apps.planning.command:plan
    Say how many images and golden objects a wanted width or power needs.
    overread plan my_study/runs/main --half-width 0.05
detect cli.detect:detect
    Run a trained detector on new images.
    overread detect my_study/runs/main new_images/ -o found --overlay
node apps.node.command:node
    Run a detector as a DICOM node: images in, reports and presentation states out.
    overread node my_study/runs/main --spool spool --destination PACS@127.0.0.1:4242
read apps.room.command:read
    Open a study's reading room: readers mark its images in the browser, blind to each other.
    overread read my_study --add-reader Anna --add-reader Ben; overread read my_study
demo-read apps.room.command:demo_read
    Open a reading room of simulated images, with readers' links and a detector, ready to try.
    overread demo-read --port 8765
reader-study apps.reader_study.command:reader_study
    Compare what readers found without and with the detector: wAFROC, sensitivity, false positives, time.
    overread reader-study my_study --truth truth.csv
explain cli.explain:explain
    Say whether a candidate is shown, and what adds to its score.
    overread explain my_study/runs/main chest.dcm 0003
features cli.features:features
    List and explain the features; compute them for candidates.
    -
simulate cli.simulate:simulate
    Write a study folder with known nodules and simulated readers.
    overread simulate my_study --n-images 200 --readers 8 --workers 2
reproduce apps.reproduction.command:reproduce
    Repeat the paper's experiment on simulated images, beside the paper's results.
    overread reproduce --output reproduction
scenario apps.scenario.command:scenario
    Say how to spend readings: more images or more readers, soft labels or hard ones.
    overread scenario design.toml --output scenario; overread scenario --demo
candidates cli.candidates:candidates
    Find the suspicious regions of every image of a folder.
    overread candidates my_study -o candidates.csv --limit 100
show cli.show:show
    Draw lungs or the region, and candidates, over an image.
    overread show image.png -o overlay.png --mm-per-px 0.7
"""
_lines = [line.strip() for line in COMMANDS.splitlines()]
for _line, _help, _example in zip(_lines[::3], _lines[1::3], _lines[2::3], strict=True):
    _name, _place = _line.split()
    # An App of its own, such as features, has its example there.
    _options = {} if _example == "-" else {"help_epilogue": f"Example: {_example}"}
    app.command(f"overread.{_place}", name=_name, help=_help, **_options)

# 128 + SIGINT, as shells report it.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; a user's mistake gets one line, never a traceback."""
    if arguments is None:
        sys.excepthook = print_bug
    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        # What pydicom warns of quotes the file, which may name a patient.
        warnings.filterwarnings("ignore", module=r"(py|high|pynet)dicom\b")
        return run_command(arguments)


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command, and turn what it raises into a line and an exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return fail(
            f"{describe_mistake(error)}\nTry --help after the command, or: overread --help",
            UsageError.exit_code,
        )
    except OverreadError as error:
        return fail(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        extra = find_extra(error)
        if extra is None:
            raise
        return fail(MissingExtraError.say(f"overread {words[0]}", extra), MissingExtraError.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        return fail(f"{place}{error.strerror or error}", StorageError.exit_code)
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    return result if isinstance(result, int) else 0


def describe_mistake(error: CycloptsError) -> str:
    """Say what is wrong with a command line."""
    if isinstance(error, MissingArgumentError) and error.argument is not None and not error.unused_tokens:
        names = error.argument.names
        positional = error.argument.field_info.is_positional
        wanted = names[0].lstrip("-").upper() if positional else " or ".join(names)
        if not error.argument.tokens and error.keyword is None:
            return f"{' '.join(error.command_chain or ())} needs {wanted}"
    if isinstance(error, UnusedCliTokensError):
        return f"nothing here takes {' '.join(error.unused_tokens or ())!r}"
    if isinstance(error, UnknownOptionError):
        token = error.token
        if (token.keyword or token.value).partition("=")[0] == "--out":
            return "--out is called --output, or -o for short"
    return str(error)


def fail(message: str, exit_code: int) -> int:
    """Say what went wrong on standard error."""
    print_text(f"overread: {message}", stderr=True)
    return exit_code


def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say a warning that no command has caught, without the place in the code."""
    print_text(f"overread: warning: {message}", stderr=True)


def print_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show where a bug of ours is, with texts of the user's files made harmless."""
    from traceback import format_exception

    print_text("".join(format_exception(kind, error, trace)).rstrip(), stderr=True)
    print_text("overread: this is a fault of Overread itself; please report it", stderr=True)
