"""The ``overread`` command: one file per sub-command, each imported only when it is called."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError

from overread import __version__
from overread._terminal import print_text
from overread.errors import OverreadError, StorageError, UsageError

app = App(
    name="overread",
    version=__version__,
    help="From the marks of many radiologists to soft labels, a compact detector and an honest account of it.",
    help_format="plaintext",
)
"""All commands, for who calls them from Python or lists them."""
app.command(
    "overread.cli.demo:demo",
    help="Simulate a small study, run all of it, and show the report.",
    help_epilogue="Example: overread demo --open",
)
app.command(
    "overread.cli.merge:merge",
    help="Merge the readers' marks into ground-truth objects with soft labels.",
    help_epilogue="Example: overread merge my_study -o truth.parquet --figure marks.png --image case-07",
)
app.command(
    "overread.cli.readers:readers",
    help="Show how the readers read: sensitivity, false positives, agreement.",
    help_epilogue="Example: overread readers my_study --figure readers.png",
)
app.command(
    "overread.cli.import_marks:import_marks",
    name="import",
    help="Turn a spreadsheet or another tool's marks into tables of marks, readings and images.",
    help_epilogue="Example: overread import marks.xlsx --xy corner --unit px --all-read-all --out my_study",
)
app.command(
    "overread.cli.export_marks:export_marks",
    name="export",
    help="Write marks and readings in another tool's format.",
    help_epilogue="Example: overread export study --out for_label_studio --members R1=ann@x.org,R2=bob@x.org",
)
app.command(
    "overread.cli.check:check",
    help="List every problem of a study's tables, by file and row.",
    help_epilogue="Example: overread check study",
)
app.command(
    "overread.cli.init:init",
    help="Make a study out of a folder of images: images.csv and a commented study.toml.",
    help_epilogue="Example: overread init my_study --drop duplicate,lateral",
)
app.command(
    "overread.cli.run:run",
    help="Run a study: from images and marks to three models and how good they are.",
    help_epilogue="Example: overread run my_study",
)
app.command(
    "overread.cli.report:report",
    help="Write the page of a finished run again, from its results.",
    help_epilogue="Example: overread report my_study/runs/main --figures figures",
)
app.command(
    "overread.cli.froc:froc",
    help="Show how good a detector is: sensitivity against false positives per image, with intervals.",
    help_epilogue="Example: overread froc detections.csv truth.csv --n-images 300 --figure froc.png",
)
app.command(
    "overread.cli.compare:compare",
    help="Say whether two models can be told apart on the same images.",
    help_epilogue="Example: overread compare ours.json theirs.json truth_coco.json --mm-per-px 0.143",
)
app.command(
    "overread.apps.planning.command:plan",
    help="Say how many images and golden objects a wanted width or power needs.",
    help_epilogue="Example: overread plan my_study/runs/main --half-width 0.05",
)
app.command(
    "overread.cli.detect:detect",
    help="Run a trained detector on new images.",
    help_epilogue="Example: overread detect my_study/runs/main new_images/ -o found --overlay",
)
app.command(
    "overread.apps.node.command:node",
    help="Run a detector as a DICOM node: images in, reports and presentation states out.",
    help_epilogue="Example: overread node my_study/runs/main --spool spool --destination PACS@127.0.0.1:4242",
)
app.command(
    "overread.apps.room.command:read",
    help="Open a study's reading room: readers mark its images in the browser, blind to each other.",
    help_epilogue="Example: overread read my_study --add-reader Anna --add-reader Ben; overread read my_study",
)
app.command(
    "overread.apps.room.command:demo_read",
    name="demo-read",
    help="Open a reading room of simulated images, with readers' links and a detector, ready to try.",
    help_epilogue="Example: overread demo-read --port 8765",
)
app.command(
    "overread.apps.reader_study.command:reader_study",
    name="reader-study",
    help="Compare what readers found without and with the detector: wAFROC, sensitivity, false positives, time.",
    help_epilogue="Example: overread reader-study my_study --truth truth.csv",
)
app.command(
    "overread.cli.explain:explain",
    help="Say whether a candidate is shown, and what adds to its score.",
    help_epilogue="Example: overread explain my_study/runs/main chest.dcm 0003",
)
app.command(
    "overread.cli.features:features",
    help="List and explain the features; compute them for candidates.",
)
app.command(
    "overread.cli.simulate:simulate",
    help="Write a study folder with known nodules and simulated readers.",
    help_epilogue="Example: overread simulate my_study --n-images 200 --readers 8 --workers 2",
)
app.command(
    "overread.apps.reproduction.command:reproduce",
    help="Repeat the paper's experiment on simulated images, beside the paper's results.",
    help_epilogue="Example: overread reproduce --output reproduction",
)
app.command(
    "overread.apps.scenario.command:scenario",
    help="Say how to spend readings: more images or more readers, soft labels or hard ones.",
    help_epilogue="Example: overread scenario design.toml --out scenario; overread scenario --demo",
)
app.command(
    "overread.cli.candidates:candidates",
    help="Find the suspicious regions of every image of a folder.",
    help_epilogue="Example: overread candidates my_study -o candidates.csv --limit 100",
)
app.command(
    "overread.cli.show:show",
    help="Draw lungs or the region, and candidates, over an image.",
    help_epilogue="Example: overread show image.png -o overlay.png --mm-per-px 0.7",
)

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
    try:
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return fail(
            f"{describe_mistake(error)}\nTry --help after the command, or: overread --help",
            UsageError.exit_code,
        )
    except OverreadError as error:
        return fail(str(error), error.exit_code)
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
