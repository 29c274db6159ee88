"""``overread reader-study``: readers without and with the detector."""

from __future__ import annotations

from pathlib import Path

from overread._commands import OutputPath, print_plain, print_warnings, refuse_to_overwrite
from overread.errors import UsageError


def reader_study(
    study: Path,
    *,
    truth: Path | None = None,
    output: OutputPath | None = None,
    table: Path | None = None,
) -> None:
    """Compare the readings of a reading room without and with the detector, and write a page.

    It gives wAFROC with the Obuchowski-Rockette analysis, each reader's sensitivity and false positives, and time.

    Parameters
    ----------
    study
        Folder of the study, with its reading room.
    truth
        Truth table whose consensus objects are the reference. By default the nodules of a simulated study; otherwise
        the objects that at least two readers marked without the detector, with the decisions of adjudication.csv.
    output
        File for the page; by default STUDY/reading/reader_study.html.
    table
        Also write the readers' results to this file, CSV or Parquet.
    """
    with print_warnings():
        import pandas as pd

        from overread.apps.reader_study._analysis import (
            compare_arms,
            find_reference,
            list_cautions,
            render_reader_study,
            tell_result,
        )
        from overread.apps.room._room import open_room
        from overread.apps.room._store import ROOM_FILE
        from overread.files import write_atomically
        from overread.marks import find_table
        from overread.tables import write_table

    if not (study / ROOM_FILE).is_file():
        raise UsageError(f"{study}: has no reading room. Open one with: overread read {study}")
    refuse_to_overwrite([truth, find_table(study, "images")], [output, table])
    with print_warnings():
        room = open_room(study)
    try:
        found = compare_arms(room, find_reference(room, truth))
        page = render_reader_study(room.name, found)
    finally:
        room.store.close()
    target = study / "reading" / "reader_study.html" if output is None else output
    write_atomically(target, page.encode(), within=study if output is None else None)
    if table is not None:
        write_table(pd.DataFrame(found.readers), table)
    for line in (tell_result(found), *list_cautions(found)):
        print_plain(line)
    print_plain(f"Page: {target}")
