"""What stands on the chain: reading room, DICOM node, reader study, scenario, reproduction and planning.

Nothing imports an app; `overread.cli` names their commands as text. An app imports the packages of its extra at the top
of its modules; a command without them says the line that installs them (`overread.errors.EXTRAS`).
"""
