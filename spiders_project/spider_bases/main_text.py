"""The main text of a page, fast enough to be taken from every page.

A page that marks its main part (``<main>``, ``role=main``, or one ``<article>``) says itself what is
navigation, and libxslt turns that part into text in about a millisecond for 90 kB. Only for a page without
such a mark does trafilatura look for the main part; its fast mode takes some 70 ms for 90 kB, so that very
long pages are spared it.
"""

from __future__ import annotations

import copy
import logging
import re
from typing import TYPE_CHECKING, Any

import trafilatura
from lxml import etree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Its remarks on empty pages name no page.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

#: Characters of markup up to which trafilatura is asked; about 100 ms of one core.
MAX_MARKUP_FOR_TRAFILATURA = 150_000
#: Characters of text kept; a page with more is a data file.
MAX_TEXT = 1_000_000

_LEFT_OUT = "script|style|noscript|template|nav|aside|footer|button|svg|head|iframe|select|textarea"
#: A form is a block and not left out: there are sites that wrap each page in one.
_BLOCKS = (
    "address|article|blockquote|body|br|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|form|h1|h2|h3|h4|h5|h6|header"
    "|hr|li|main|ol|p|section|summary|table|tr|ul"
)
#: Ends a block until white space is collapsed; Unicode sets this code point aside for internal use.
_BREAK = "\ufdd0"
_to_text = etree.XSLT(
    etree.XML(f"""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text"/>
  <xsl:template match="{_LEFT_OUT}|comment()|processing-instruction()"/>
  <xsl:template match="{_BLOCKS}">{_BREAK}<xsl:apply-templates/>{_BREAK}</xsl:template>
  <xsl:template match="td|th"><xsl:apply-templates/><xsl:text> </xsl:text></xsl:template>
  <xsl:template match="pre">{_BREAK}<xsl:apply-templates mode="lines"/>{_BREAK}</xsl:template>
  <xsl:template match="text()" mode="lines">
    <xsl:value-of select="translate(., '&#10;', '{_BREAK}')"/>
  </xsl:template>
</xsl:stylesheet>""")
)
_breaks = re.compile(f"(?: ?{_BREAK} ?)+")
_role_main = etree.XPath("//*[@role='main']")


def main_text(root: HtmlElement, markup_length: int) -> str:
    """The main text below ``root``, a line a block; empty where there is none.

    Args:
        root: The parsed page; it is not changed.
        markup_length: Characters of the page's markup.
    """
    main = _marked_main(root)
    if main is not None:
        text = block_text(main)
        if text:
            return text
    elif markup_length <= MAX_MARKUP_FOR_TRAFILATURA:
        text = _found_by_trafilatura(root)
        if text:
            return text[:MAX_TEXT]
    return block_text(root)


def block_text(element: HtmlElement) -> str:
    """All text below ``element``, a line a block, but for scripts, navigation and controls."""
    try:
        text = str(_to_text(element))
    except etree.XSLTApplyError:  # nested deeper than libxslt goes
        text = _BREAK.join(element.itertext())
    return _breaks.sub("\n", " ".join(text.split()))[:MAX_TEXT].strip()


def _marked_main(root: HtmlElement) -> HtmlElement | None:
    mains: Any = [*root.iter("main")] or _role_main(root)
    if mains:
        return mains[0]
    articles = [*root.iter("article")]
    return articles[0] if len(articles) == 1 else None


def _found_by_trafilatura(root: HtmlElement) -> str:
    try:
        return trafilatura.extract(copy.deepcopy(root), fast=True, include_comments=False) or ""
    except Exception:  # noqa: BLE001 - a heuristic over any markup at all: its failure must not cost the page
        return ""
