import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spiders_project.spider_bases.links import is_binary, is_endless, shape, without_session

WORDS = st.text(string.ascii_lowercase, min_size=1, max_size=8).filter(lambda word: without_session(f"?{word}=1") != "")
QUERIES = st.lists(st.tuples(WORDS, WORDS), max_size=6)
SESSIONS = st.sampled_from(["PHPSESSID", "jsessionid", "sid", "utm_source", "utm_campaign", "gclid", "ASPSESSIONIDQQ"])


def joined(pairs):
    return "&".join(f"{name}={value}" for name, value in pairs)


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("http://a/?PHPSESSID=1", "http://a/"),
        ("http://a/p?sid=1&b=2", "http://a/p?b=2"),
        ("http://a/p?b=2&sid=1", "http://a/p?b=2"),
        ("http://a/p?b=2&utm_source=x&c=3", "http://a/p?b=2&c=3"),
        ("http://a/p;jsessionid=77?b=2", "http://a/p?b=2"),
        ("http://a/p?b=2&UTM_Source=x&utm_medium=y", "http://a/p?b=2"),
        ("http://a/p?inside=1&aside=2&residue=3", "http://a/p?inside=1&aside=2&residue=3"),
        ("http://a/p?b=", "http://a/p?b="),
        ("http://a/p?sid", "http://a/p?sid"),
        ("http://a/sid=1/p", "http://a/sid=1/p"),
    ],
)
def test_session_ids_and_campaign_tags_are_taken_out_and_nothing_else(url, cleaned):
    assert without_session(url) == cleaned


@given(QUERIES, QUERIES, SESSIONS, WORDS)
def test_a_session_id_is_taken_out_wherever_it_stands(before, after, name, value):
    clean = joined([*before, *after])
    url = "http://a/p?" + joined([*before, (name, value), *after])
    assert without_session(url) == (f"http://a/p?{clean}" if clean else "http://a/p")


@given(st.text())
def test_taking_sessions_out_twice_is_the_same_as_once(text):
    once = without_session(f"http://a/{text}")
    assert without_session(once) == once


@pytest.mark.parametrize(
    "path",
    ["/a/a/a/a/", "/x/b/x/b/x/b/x", "/" + "/".join(map(str, range(21))), "/p?" + "&".join("abcdefghijkl")],
)
def test_urls_that_grow_for_ever_are_seen(path):
    assert is_endless(f"http://a{path}")


@pytest.mark.parametrize(
    "path",
    ["/", "/2026/11/11/11/", "/a/a/a", "/library/xml.etree.elementtree.html", "/p?page=2&sort=price&dir=asc"],
)
def test_normal_urls_are_not(path):
    assert not is_endless(f"http://a{path}")


@given(st.lists(WORDS, min_size=4, max_size=30, unique=True))
def test_a_path_is_endless_by_its_length_alone_when_no_segment_repeats(segments):
    assert is_endless("http://a/" + "/".join(segments)) == (len(segments) > 20)


def test_pages_of_one_series_have_one_shape():
    assert shape("http://a/cal/2026/01?x=1") == shape("http://a/cal/2027/12") == "/cal/0/0"
    assert shape("http://a/cal?month=1") == shape("http://a/cal?month=jan")
    assert shape("http://a/cal/2026") != shape("http://a/calendar/2026")


def test_files_without_text_are_known_by_their_extension():
    assert is_binary("http://a/x/manual.PDF?download=1")
    assert not is_binary("http://a/x.pdf/")
    assert not is_binary("http://a/index.html")
    assert not is_binary("http://a.zip/")
