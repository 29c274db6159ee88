"""What stands on the chain: reading room, DICOM node, reader study, scenario, reproduction and planning.

Nothing imports an app; `overread.cli` names their commands as text. A package of an extra is imported here at the top of
a module; where it is missing, the command says the line that installs it (`overread.errors.EXTRAS`).
"""
