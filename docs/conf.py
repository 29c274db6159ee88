"""How the documentation site is built: ``make docs`` writes docs/_build/html, which works from a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from overread import __version__

sys.path[:0] = [str(Path(__file__).parent / "_ext"), str(Path(__file__).parent)]

project = "Overread"
author = "The Overread developers"
release = version = __version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "from_code", "mathml"]
exclude_patterns = ["_build"]
default_role = "py:obj"
highlight_language = "none"
# Options and defaults are copied from pages: quotes stay as they are typed.
smartquotes = False
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
# Every page carries the contents of all pages; a page of names begins with a table of them.
toc_object_entries = False

myst_enable_extensions = ["dollarmath", "amsmath"]
# Pages link to headings of three levels.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# Members are described by autodoc, each once.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"Overread {release}"
html_static_path = ["_static"]
html_css_files = ["overread.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
# The page's own footer names nobody's server.
html_show_copyright = False
