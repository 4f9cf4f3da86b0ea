from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse
from w3lib.url import safe_url_string

from spiders_project.spider_bases import Document
from spiders_project.spider_bases.document import _NEEDS_QUOTING
from spiders_project.spider_bases.links import without_session
from spiders_project.spider_bases.main_text import block_text, main_text

URL = "http://a.org/dir/page?b=2&a=1"


def document(body, *, content_type="text/html", kind=HtmlResponse, url=URL, headers=None, meta=None):
    request = Request(url, meta=meta or {}, headers={"Referer": "http://a.org/from"})
    return Document.of(kind(url, body=body, request=request, headers={"Content-Type": content_type, **(headers or {})}))


def page(body, **options):
    return document(body, **options).page()


FULL = """<!DOCTYPE html><html lang="de"><head><title> A
 title</title><meta name="Description" content="said in short"><link rel="canonical" href="/lies">
<meta property="og:title" content="OG"><meta property="og:image" content="1.png">
<meta property="og:image" content="2.png"><script type="application/ld+json">[{"@type": "Thing"}]</script>
<script type="application/ld+json">{broken</script>
</head><body><nav>Menu</nav><main><h1>The <b>first</b></h1><p>One
line.</p><pre>a
  b</pre><table><tr><td>c</td><td>d</td></tr></table><script>no()</script></main></body></html>"""


def test_a_page_says_what_its_document_says():
    item = page(FULL.encode(), meta={"depth": 2, "redirect_urls": ["http://a.org/old"]})
    assert item.url == "http://a.org/dir/page?a=1&b=2"
    assert item.requested_url == "http://a.org/old"
    assert (item.status, item.content_type, item.language) == (200, "text/html", "de")
    assert (item.title, item.description, item.h1) == ("A title", "said in short", "The first")
    assert item.text.split("\n") == ["The first", "One line.", "a", "b", "c d"]
    assert item.metadata == {
        "json_ld": [{"@type": "Thing"}],
        "open_graph": {"og:title": "OG", "og:image": "1.png"},
    }
    assert (item.depth, item.referer) == (2, "http://a.org/from")
    assert item.fetched_at.utcoffset().total_seconds() == 0
    assert ItemAdapter(item)["h1"] == "The first"


def test_the_content_hash_changes_with_what_the_page_says_and_not_with_how_it_was_found():
    same = page(FULL.encode(), url="http://a.org/elsewhere")
    assert page(FULL.encode(), meta={"depth": 7}).content_hash == same.content_hash
    assert page(FULL.replace("One", "Two").encode()).content_hash != same.content_hash
    assert page(FULL.replace("title", "titel").encode()).content_hash != same.content_hash
    assert page(FULL.replace("said in short", "said at length").encode()).content_hash != same.content_hash


def test_links_are_absolute_without_fragment_and_session_each_once():
    body = """<base href="http://a.org/base/"><a href="x">1</a><a href="x#part">2</a>
    <a href=" /y?sid=4 ">3</a><area href="//b.org/z"><iframe src="frame"></iframe>
    <a href="mailto:a@b">4</a>
    <a href="javascript:x()">5</a><a href="http://[1">6</a><a href="ftp://a.org/">7</a>
    <a>8</a><a href="">9</a><a href="/ä b">10</a>"""
    assert [link.url for link in document(body.encode()).links] == [
        "http://a.org/base/x",
        "http://a.org/y",
        "http://b.org/z",
        "http://a.org/base/frame",
        "http://a.org/%C3%A4%20b",
    ]


def test_a_link_is_nofollow_only_where_every_anchor_says_so():
    body = b"<a rel='nofollow' href=a>x</a><a href=a>x</a><a rel='ugc NOFOLLOW' href=b>x</a>"
    assert [(link.url[-1], link.nofollow) for link in document(body).links] == [("a", False), ("b", True)]


def test_an_item_keeps_a_bounded_number_of_links():
    body = "".join(f"<a href='/{n}'>x</a>" for n in range(1200)).encode()
    assert len(page(body).links) == 1000
    assert len(document(body).links) == 1200


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({}, b"<meta name=ROBOTS content='NoIndex, follow'>", {"noindex", "follow"}),
        ({}, b"<meta name=robots content=none>", {"none", "noindex", "nofollow"}),
        ({"X-Robots-Tag": ["noindex", "nofollow"]}, b"", {"noindex", "nofollow"}),
        ({"X-Robots-Tag": "otherbot: noindex, nofollow"}, b"", set()),
        ({}, b"<meta name=googlebot content=noindex>", set()),
    ],
)
def test_robots_directives_come_from_the_page_and_its_headers(headers, body, expected):
    assert document(body, headers=headers).robots == expected


def test_plain_text_is_a_page_and_other_files_are_none():
    text = page("café\0 au lait".encode(), content_type="text/plain; charset=utf-8", kind=TextResponse)
    assert (text.text, text.content_type, text.title, text.links) == ("café au lait", "text/plain", None, [])
    assert document(b"%PDF", content_type="application/pdf", kind=Response) is None
    assert document(b"{}", content_type="application/json", kind=TextResponse) is None
    assert document(b"<a/>", content_type="application/xml", kind=XmlResponse) is None


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"", "text/html", ""),
        (b"   ", "text/html", ""),
        (b"no tags", "text/html", "no tags"),
        (b"<form><p>all in a form</form>", "text/html", "all in a form"),
        (b"<p>nul\0byte", "text/html", "nulbyte"),
        ("<p>привет".encode("cp1251"), "text/html; charset=windows-1251", "привет"),
        ("<meta charset=shift_jis><p>羅針盤".encode("shift_jis"), "text/html", "羅針盤"),
        (b"<p>declared as hex", "text/html; charset=hex", "declared as hex"),
        (b"<p>declared as nothing known", "text/html; charset=klingon", "declared as nothing known"),
        (b"<p>half +2AA- character", "text/html; charset=utf-7", "half +2AA- character"),
        (b"<p>\xed\xa0\xbd", "text/html; charset=utf-8", "\ufffd"),
        (b"<!-- only a comment -->", "text/html", ""),
        (b"<frameset><frame src=a></frameset>", "text/html", ""),
    ],
)
def test_no_body_raises(body, content_type, text):
    item = page(body, content_type=content_type)
    assert item.text.replace("\ufffd\ufffd\ufffd", "\ufffd") == text
    assert len(item.content_hash) == 64


def test_half_characters_in_json_ld_are_replaced_and_whole_ones_kept():
    item = page(b"""<script type="application/ld+json">{"a": "\\ud83d", "\\ud83d\\ude00": 1}</script>""")
    assert item.metadata["json_ld"] == [{"a": "?", "\U0001f600": 1}]


@pytest.mark.parametrize("tag", [b"<div>", b"<b>", b"<table><tr><td>"])
def test_deeply_nested_pages_keep_their_text_as_far_as_the_parser_goes(tag):
    assert "deep" in page(tag * 600 + b"deep").text
    assert page(tag * 100_000 + b"deep").status == 200


@given(st.binary(max_size=300))
def test_no_bytes_at_all_raise(body):
    read = document(body)
    read.page()
    assert read.robots is not None


@given(st.text(alphabet="<>/ab=\"' &;#x!-\n", max_size=200))
def test_no_markup_at_all_raises(text):
    document(f"<article>{text}</article><a href='{text}'>".encode()).page()


def test_without_a_mark_trafilatura_finds_the_main_part():
    prose = "".join(f"<p>Sentence {n} tells of a compass, and of the sea that it crossed.</p>" for n in range(20))
    menu = "".join(f"<li><a href='/{n}'>Menu {n}</a></li>" for n in range(20))
    root = document(f"<body><div><ul>{menu}</ul></div><div id=content>{prose}</div>".encode()).root
    text = main_text(root, 5000)
    assert "Sentence 19" in text
    assert "Menu 3" not in text
    assert "Menu 3" in block_text(root)
    assert "Menu 3" in main_text(root, 10_000_000)  # too long for trafilatura


HREF_PARTS = st.sampled_from(
    ["/", "a", ".", "..", "?", "=", "&", ";", "%20", ":", "é", " ", "\\", "\n", "@", "[", "-", "b1"]
)


@given(
    st.lists(HREF_PARTS, max_size=8).map("".join), st.sampled_from([URL, "http://h:8/", "http://u@h/p/", "http://h"])
)
def test_a_link_from_the_root_is_what_urljoin_makes_of_it(href, base):
    page = document(b"", url=base)
    found = page._absolute(f"/{href}".strip())
    try:
        expected = urljoin(base, f"/{href}".strip())
    except ValueError:
        expected = None
    if expected and expected.startswith("http"):
        expected = without_session(
            safe_url_string(expected, page.response.encoding) if _NEEDS_QUOTING.search(expected) else expected
        )
    assert found == expected
