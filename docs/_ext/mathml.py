"""Formulas as MathML, made when the site is built: browsers draw it themselves, without a script or a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

__all__ = ["formula_to_mathml", "setup"]

logger = logging.getLogger(__name__)


def formula_to_mathml(latex: str, *, block: bool) -> str:
    r"""Turn a formula into MathML.

    Raises
    ------
    ValueError
        Where a command of LaTeX is not known: it would be shown as text, with its backslash.
    """
    made = convert(latex, display="block" if block else "inline")
    unknown = re.findall(r"\\[A-Za-z]+", re.sub(r"<[^>]*>", " ", made))
    if unknown:
        raise ValueError(f"{' '.join(unknown)} in the formula {latex!r}")
    return made


def show_formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula into the page; one that cannot be drawn is a warning, which fails the build."""
    block = isinstance(node, nodes.math_block)
    try:
        made = formula_to_mathml(node.astext(), block=block)
    except Exception as error:
        logger.warning("formula cannot be drawn: %s", error, location=node)
        made = f"<code>{translator.encode(node.astext())}</code>"
    translator.body.append(f'<div class="math">{made}</div>' if block else made)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell sphinx of the renderer ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(show_formula, None), block_renderers=(show_formula, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
