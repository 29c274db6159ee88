"""The ``overread`` command: one file per sub-command, each imported only when it is called."""

from __future__ import annotations

import os
import re
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
    help="Turn the marks of several readers into soft labels, a compact detector and a report of how well it works.",
    help_format="plaintext",
)
"""All commands, for callers from Python."""
# For each command: its name and module under overread, a summary, when to use it, an example. Nothing is imported.
COMMANDS = """\
demo cli.demo:demo
    Simulate a small study, run it, and show the report.
    Start here to see what Overread makes. Nothing is downloaded. Run the same command again to continue a
    demo that was stopped.
    overread demo --open
merge cli.merge:merge
    Merge the readers' marks into objects with soft labels.
    Use it to look at the merged objects before a run, or to use them in another program.
    overread merge my_study -o truth.parquet --figure marks.png --image case-07
readers cli.readers:readers
    Show each reader's sensitivity, false positives and agreement with the others.
    The first table compares the readers with the consensus objects of all readers, as the paper does. The
    second (leave-one-out) compares each reader with the objects of the other readers, in images with three
    or more readings.
    overread readers my_study --figure readers.png
import cli.import_marks:import_marks
    Convert marks from a spreadsheet or an annotation tool into tables of marks, readings and images.
    Run it after `overread init`: images.csv then stays, and the marks get its image ids. For a spreadsheet,
    `import` shows how it interpreted the columns and asks you to confirm.
    overread import marks.xlsx --xy corner --unit px --all-read-all --output my_study
export cli.export_marks:export_marks
    Write a study's marks and readings in another tool's format.
    Use it to continue the annotation in another tool, or to archive the marks as DICOM.
    overread export study --output for_label_studio --members R1=ann@x.org,R2=bob@x.org
check cli.check:check
    List all problems in a study's tables, by file and row.
    Run it before `overread run`. Errors are listed row by row; warnings are counted by kind, and --json lists
    every row. Exit code 4: there are errors. 7: the only errors are patients or pixels in two splits.
    overread check study
init cli.init:init
    Turn a folder of images into a study: write images.csv and a commented study.toml.
    An existing images.csv keeps its rows, and files that failed before are tried again. Nothing that names a
    patient is written unless you ask for it. Files that cannot be used are skipped and listed in
    found_files.csv. `init` reports copies, one patient under two ids, lateral, AP and other views, and text in
    the image, each with a command that fixes it.
    overread init my_study --drop duplicate,lateral
run cli.run:run
    Run a study: merge marks, find candidates, fit three models and test them.
    Run it after `init` and `import`. An interrupted run continues where it stopped, and steps whose inputs
    did not change are not repeated. Exit code 3: finished, but some images were skipped.
    overread run my_study
report cli.report:report
    Write the report and the model card of a finished run again, from its results.
    Use it after an update of Overread, or to get the figures and Table 1 as files. Nothing is computed and no
    image is opened.
    overread report my_study/runs/main --figures figures
froc cli.froc:froc
    Compute the FROC curve of any detector: sensitivity against false positives per image, with intervals.
    It needs only detections and ground truth, no study.
    overread froc detections.csv truth.csv --n-images 300 --figure froc.png
compare cli.compare:compare
    Compare two models on the same images: differences, paired intervals and a permutation test.
    It needs only detections and ground truth, no study.
    overread compare ours.json theirs.json truth_coco.json --mm-per-px 0.143
plan apps.planning.command:plan
    Compute how many images and consensus objects a study needs for an interval width or a power.
    Use it before you collect images or readings.
    overread plan my_study/runs/main --half-width 0.05
detect cli.detect:detect
    Run a trained detector on new images and write its detections.
    Run the same command again to continue one that was stopped. Exit code 3: some images were skipped; they
    are listed. Exit code 4: no image could be used, and nothing was written.
    overread detect my_study/runs/main new_images/ -o found --overlay
node apps.node.command:node
    Run a detector as a DICOM node that receives images and sends reports and presentation states.
    Use it to connect a detector to a PACS. Images whose documents were not sent yet are processed after a
    restart.
    overread node my_study/runs/main --spool spool --destination PACS@127.0.0.1:4242
read apps.room.command:read
    Open a study's reading room, where readers mark images in the browser, blind to each other.
    Use it when you have images but no marks. Each reader gets a secret link; the marks go to the study.
    overread read my_study --add-reader Anna --add-reader Ben; overread read my_study
demo-read apps.room.command:demo_read
    Open a reading room with simulated images, readers and a detector.
    Use it to try the reading page before you set up a study.
    overread demo-read --port 8765
reader-study apps.reader_study.command:reader_study
    Compare readings without and with the detector: wAFROC, sensitivity, false positives and time.
    Use it after readers have read a study twice in the reading room.
    overread reader-study my_study --truth truth.csv
explain cli.explain:explain
    Explain a candidate: whether it is shown, and what each feature adds to its score.
    Use it when a detection, or a missed lesion, surprises you.
    overread explain my_study/runs/main chest.dcm 0003
features cli.features:features
    List and explain the features; compute them for candidates.
    -
simulate cli.simulate:simulate
    Write a study folder with known lesions and simulated readers.
    Use it to test a method where the truth is known; it is in known/. The same seed gives the same bytes with
    any number of workers. Run the same command again to continue one that was stopped.
    overread simulate my_study --n-images 200 --readers 8 --workers 2
reproduce apps.reproduction.command:reproduce
    Repeat the paper's experiment on simulated images and compare with the paper's results.
    It takes hours at full size. Run the same command again to continue one that was stopped.
    overread reproduce --output reproduction
scenario apps.scenario.command:scenario
    Simulate how to spend a budget of readings: more images or more readers, soft or hard labels.
    Use it before you collect readings.
    overread scenario design.toml --output scenario; overread scenario --demo
candidates cli.candidates:candidates
    Find the candidates of every image in a folder.
    `run` does this itself. Use the command to look at the candidates, or to use them in another program.
    overread candidates my_study -o candidates.csv --limit 100
show cli.show:show
    Draw an image with its lungs or search region and its candidates.
    Use it to check that Overread reads an image correctly.
    overread show image.png -o overlay.png --mm-per-px 0.7
"""
for _entry in re.split(r"\n(?=\w)", COMMANDS):
    _head, _help, *_more, _example = map(str.strip, _entry.strip().splitlines())
    _name, _function = _head.split()
    # A group of commands, such as features, gives its example in its App.
    _options = {} if _example == "-" else {"help_epilogue": f"Example: {_example}"}
    app.command(
        f"overread.{_function}", name=_name, help="\n\n".join([_help, " ".join(_more)]).rstrip(), **_options
    )

# 128 + SIGINT, as shells report it.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; a user's mistake gives one line, not a traceback."""
    if arguments is None:
        sys.excepthook = print_bug
    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        # pydicom's warnings quote the file, which may name a patient.
        warnings.filterwarnings("ignore", module=r"(py|high|pynet)dicom\b")
        return run_command(arguments)


def run_command(arguments: Sequence[str] | None) -> int:
    """Run the command, and turn an exception into a line and an exit code."""
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
        return f"unexpected argument {' '.join(error.unused_tokens or ())!r}"
    if isinstance(error, UnknownOptionError):
        token = error.token
        if (token.keyword or token.value).partition("=")[0] == "--out":
            return "--out is called --output, or -o for short"
    return str(error)


def fail(message: str, exit_code: int) -> int:
    """Print an error message on standard error."""
    print_text(f"overread: {message}", stderr=True)
    return exit_code


def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without its position in the code."""
    print_text(f"overread: warning: {message}", stderr=True)


def print_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a bug, with control characters escaped."""
    from traceback import format_exception

    print_text("".join(format_exception(kind, error, trace)).rstrip(), stderr=True)
    print_text("overread: internal error; please report it with the lines above", stderr=True)
