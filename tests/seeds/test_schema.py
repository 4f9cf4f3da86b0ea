"""What a seed may hold, and the reason of every refusal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider

from spiders_project.errors import SeedError
from spiders_project.seeds.fields import _MACHINERY_META
from spiders_project.seeds.request import to_request
from spiders_project.seeds.schema import FIELDS, MAX_DEPTH, MAX_ENTRY_BYTES, Seed, parse


def seed(**fields) -> Seed:
    return parse(json.dumps({"url": "https://example.com/?page=2", **fields}).encode())


def reason(entry: bytes) -> str:
    with pytest.raises(SeedError) as refused:
        parse(entry)
    return str(refused.value)


def reason_of(**fields) -> str:
    return reason(json.dumps({"url": "https://example.com/", **fields}).encode())


# --- bare URLs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        (b"https://example.com/", "https://example.com/"),
        (b"  https://example.com/ \r\n", "https://example.com/"),
        (b"\xef\xbb\xbfhttps://example.com/", "https://example.com/"),
        (b"HTTPS://Example.com/A", "https://example.com/A"),
        (b"http://example.com/a b?q=c d", "http://example.com/a%20b?q=c%20d"),
        ("http://example.com/ä?q=ö".encode(), "http://example.com/%C3%A4?q=%C3%B6"),
        ("http://bücher.example/".encode(), "http://xn--bcher-kva.example/"),
        (b"http://example.com?a=1", "http://example.com/?a=1"),
        (b"http://127.0.0.1:8080/x#top", "http://127.0.0.1:8080/x#top"),
        (b"http://[::1]:8080/", "http://[::1]:8080/"),
        (b"http://a_b.example.com./", "http://a_b.example.com./"),
    ],
)
def test_a_bare_url_is_a_seed_normalised_as_a_request_would(entry, url):
    assert parse(entry) == Seed(url)
    assert Request(entry.decode("utf-8-sig").strip()).url == url


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (b"", "the entry is empty"),
        (b" \r\n", "the entry is empty"),
        (b"http://caf\xe9.example/", "not UTF-8: byte 0xe9 at position 10"),
        (b"example.com/a", "no scheme in example.com/a; write https://example.com/a"),
        (b"//example.com/a", "no scheme in //example.com/a; write https://example.com/a"),
        (b"localhost:8000/a", "no scheme in localhost:8000/a; write https://localhost:8000/a"),
        (b"file:///etc/passwd", "scheme 'file' is not allowed"),
        (b"data:text/html,x", "scheme 'data' is not allowed"),
        (b"s3://bucket/key", "scheme 's3' is not allowed; allowed are http, https (FRONTIER_ALLOWED_SCHEMES)"),
        (b"javascript:alert(1)", "scheme 'javascript' is not allowed"),
        (b"http:example.com", "http: must be followed by // and a host"),
        (b"http:///path", "the URL has no host"),
        (b"http://:80/", "the URL has no host"),
        (b"http://a..b/", "'a..b' is no host name"),
        (b"http://.example.com/", "'.example.com' is no host name"),
        (b"http://exa mple.com/", "'exa mple.com' is no host name"),
        (b"http://" + b"a" * 64 + b".com/", "is no host name"),
        (b"http://[::x]/", "not a URL: "),
        (b"http://h:99999/", "not a URL: Port out of range 0-65535"),
        (b"http://h:http/", "not a URL: Port could not be cast"),
        (b"http://h:0/", "port 0 cannot be reached"),
        (b"http://user:secret@example.com/", "send an 'Authorization' header instead"),
        (b"http://example.com/a\x00b", r"the control character '\x00' at position 20"),
        (b"http://example.com/a\nb", r"the control character '\n' at position 20"),
        (b"http://a.com/ http://b.com/", "more than one URL in an entry"),
        (b"http://example.com/" + b"x" * 9000, "at most 8,192 are allowed"),
        (b"http://example.com/" + "ä".encode() * 3000, "characters when encoded"),
        (b"x" * (MAX_ENTRY_BYTES + 1), "the entry has 1,048,577 bytes; at most 1,048,576 are allowed"),
        (b"42", "a seed is a URL or a JSON object, not a number"),
        (b"-1.5e3", "not a number"),
        (b"null", "not null"),
        (b"true", "not a boolean"),
        (b'["http://a.com/"]', "a seed is a URL or a JSON object, not a list"),
        (b'"http://a.com/"', "not a string; a bare URL needs no quotes"),
        (b'{"url": "http://a.com/"', "broken JSON: Expecting ',' delimiter at character 24"),
        (b'{"url": "http://a.com/", "url": "http://b.com/"}', "the key 'url' stands twice"),
        (b'{"url": "http://a.com/", "meta": {"x": NaN}}', "NaN is not JSON"),
        (b'{"url": "http://a.com/", "meta": {"x": 1e999}}', "the number 1e999 is too large"),
        (b'{"url": "http://a.com/", "meta": {"x": ' + b"9" * 5000 + b"}}", "a number that is too large"),
        (b'{"url": "http://a.com/", "body": "\\ud800"}', "half of a surrogate pair"),
        (b"[" * 100_000, f"nested more than {MAX_DEPTH} levels deep"),
        (b'{"meta": ' + b"[" * 40 + b"]" * 40 + b"}", f"nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_the_reason_names_what_is_wrong(entry, expected):
    assert expected in reason(entry)


def test_no_reason_repeats_a_password():
    assert "secret" not in reason(b"http://user:secret@example.com/")


def test_further_schemes_can_be_allowed():
    assert parse(b"ftp://example.com/a", allowed_schemes=("ftp",)).url == "ftp://example.com/a"


# --- JSON objects --------------------------------------------------------------------------------


def test_each_field_arrives_as_what_it_is():
    assert seed(
        method="put",
        headers={"Accept": "text/html", "X-Two": ["1", "2"]},
        cookies={"session": "abc", "n": 1},
        body="ä",
        meta={"max_depth": 2, "download_slot": "shared"},
        cb_kwargs={"kind": "x"},
        callback="parse_item",
        priority=7,
        dont_filter=False,
    ) == Seed(
        url="https://example.com/?page=2",
        method="PUT",
        headers={"Accept": ["text/html"], "X-Two": ["1", "2"]},
        cookies={"session": "abc", "n": 1},
        body="ä".encode(),
        meta={"max_depth": 2, "download_slot": "shared"},
        cb_kwargs={"kind": "x"},
        callback="parse_item",
        priority=7,
        dont_filter=False,
    )


def test_a_form_is_posted_urlencoded_and_the_query_is_kept():
    posted = seed(form={"q": "a b&c", "n": [1, 2.5], "ä": "ö"})
    assert posted.url == "https://example.com/?page=2"
    assert posted.method == "POST"
    assert posted.headers == {"Content-Type": ["application/x-www-form-urlencoded"]}
    assert posted.body == b"q=a+b%26c&n=1&n=2.5&%C3%A4=%C3%B6"


def test_json_is_posted_as_json():
    posted = seed(json={"a": [1, None, "ä"]})
    assert (posted.method, posted.headers) == ("POST", {"Content-Type": ["application/json"]})
    assert posted.body == '{"a":[1,null,"ä"]}'.encode()


def test_a_method_and_a_content_type_that_are_given_stay():
    posted = seed(json={}, method="PATCH", headers={"content-type": "application/merge-patch+json"})
    assert posted.method == "PATCH"
    assert posted.headers == {"content-type": ["application/merge-patch+json"]}


@pytest.mark.parametrize("priority", [-5, 0, 12, "12", "-5", " +3 "])
def test_priority_may_be_a_whole_number_in_a_string(priority):
    assert seed(priority=priority).priority == int(priority)


def test_seeds_are_crawled_even_when_seen_before_unless_they_say_otherwise():
    assert seed().dont_filter
    assert not seed(dont_filter=False).dont_filter


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"url": 3}, "'url' must be a string, not a number"),
        ({"prio": 1}, "unknown key 'prio'; did you mean 'priority'?"),
        ({"callbak": "x"}, "unknown key 'callbak'; did you mean 'callback'?"),
        ({"zzz": 1}, "unknown key 'zzz'; known are url, method"),
        ({"method": "G E T"}, "'method' must be a word such as GET or POST"),
        ({"method": None}, "'method' must be a word such as GET or POST, not null"),
        ({"headers": ["a"]}, "'headers' must be an object, not a list"),
        ({"headers": {"A": 1}}, "'headers': A must be a string, not a number"),
        ({"headers": {"A": ["b", None]}}, "'headers': A must be a string, not null"),
        ({"headers": {"A": "b\r\nC: d"}}, "'headers': A holds a line break or NUL"),
        ({"headers": {"A b": "c"}}, "'headers': 'A b' is no header name"),
        ({"headers": {"Content-Length": "3"}}, "'headers': Content-Length is set from the body"),
        ({"cookies": "a=b"}, "'cookies' must be an object or a list of objects, not a string"),
        ({"cookies": {"a": None}}, "'cookies': a must be a string, number or boolean, not null"),
        ({"cookies": {"a": "b\nc"}}, "'cookies': a holds a line break or NUL"),
        ({"cookies": [{"name": "a"}]}, "'cookies': each has name and value"),
        ({"cookies": [{"name": "a", "value": "b", "max-age": 1}]}, "'cookies': each has name and value"),
        ({"cookies": [{"name": 1, "value": "b"}]}, "'cookies': name must be a string, not a number"),
        ({"cookies": [{"name": "a", "value": "b", "secure": "yes"}]}, "'secure' must be true or false"),
        ({"body": {"a": 1}}, "'body' must be a string, not an object; for an object use 'json' or 'form'"),
        ({"body": "a", "json": None}, "'body' and 'json' exclude each other"),
        ({"form": {}, "json": {}, "body": ""}, "'body' and 'form' and 'json' exclude each other"),
        ({"form": "a=b"}, "'form' must be an object, not a string"),
        ({"form": {"a": True}}, "'form': a must be a string, a number or a list of them, not a boolean"),
        ({"form": {"a": 1}, "method": "get"}, "a form is a body, which GET has not"),
        ({"meta": []}, "'meta' must be an object, not a list"),
        ({"meta": {"redirect_times": 1}}, "'meta': 'redirect_times' is written by the crawler itself"),
        ({"meta": {"_origin": 1}}, "'meta': '_origin' is written by the crawler itself"),
        ({"meta": {"frontier_id": 1}}, "'meta': 'frontier_id' is written by the crawler itself"),
        ({"meta": {"download_slot": 3}}, "'meta': download_slot must be a non-empty string"),
        ({"cb_kwargs": {"a b": 1}}, "'cb_kwargs': 'a b' is no argument name"),
        ({"callback": "os.system"}, "'callback' must be the name of a method of the spider"),
        ({"callback": None}, "'callback' must be the name of a method of the spider, not null"),
        ({"priority": 1.5}, "'priority' must be a whole number, not 1.5"),
        ({"priority": True}, "'priority' must be a whole number, not true"),
        ({"priority": "high"}, "'priority' must be a whole number"),
        ({"priority": 10**12}, "'priority' must lie between"),
        ({"dont_filter": "no"}, "'dont_filter' must be true or false, not a string"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(fields, expected):
    assert expected in reason_of(**fields)


def test_the_url_must_be_there():
    assert reason(b"{}") == "'url' is missing"


@pytest.mark.parametrize("key", sorted(_MACHINERY_META))
def test_meta_that_scrapy_writes_is_refused(key):
    assert key in reason_of(meta={key: 1})


# --- properties ----------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
urls = st.one_of(
    st.text().map(lambda text: "http://example.com/" + text),
    st.text(max_size=20).map(lambda host: f"https://{host}/"),
    st.sampled_from(["http://a.b/?x=1", "https://[::1]/", "HTTP://A:81"]),
    st.text(),
)
anything = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(st.sampled_from(FIELDS), json_values | urls).map(lambda obj: json.dumps(obj).encode()),
    urls.map(lambda url: url.encode("utf-8", "surrogatepass")),
)

lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"))
objects = st.fixed_dictionaries(
    {"url": urls},
    optional={
        "method": st.sampled_from(["GET", "post", "PUT", "x-y"]),
        "headers": st.dictionaries(st.from_regex(r"[A-Za-z-]{1,8}", fullmatch=True), lines | st.lists(lines)),
        "cookies": st.dictionaries(lines, lines | st.integers() | st.booleans())
        | st.lists(st.fixed_dictionaries({"name": lines, "value": lines}, optional={"secure": st.booleans()})),
        "body": lines,
        "meta": st.dictionaries(lines, json_values, max_size=3),
        "cb_kwargs": st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), json_values, max_size=3),
        "callback": st.sampled_from(["parse", "parse_item"]),
        "priority": st.integers(-100, 100) | st.integers(-100, 100).map(str),
        "dont_filter": st.booleans(),
    },
)
bodies = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"form": st.dictionaries(lines, lines | st.integers() | st.lists(lines))}),
    st.fixed_dictionaries({"json": json_values}),
)


class Site(Spider):
    name = "site"

    def parse(self, response):
        pass

    def parse_item(self, response):
        pass


@given(anything)
def test_parse_raises_nothing_but_seed_errors(entry):
    try:
        accepted = parse(entry)
    except SeedError:
        return
    assert isinstance(accepted, Seed)


@given(objects, bodies)
def test_what_is_accepted_becomes_a_request_and_survives_json(obj, body):
    try:
        accepted = parse(json.dumps(obj | body if "body" not in obj else obj).encode())
    except SeedError:
        return
    assert parse(accepted.to_json().encode()) == accepted
    request = to_request(accepted, Site())
    assert request.url == accepted.url
    assert request.method == accepted.method
    assert request.body == accepted.body
    assert request.headers.to_unicode_dict() is not None


@given(st.fixed_dictionaries({"url": st.just("http://example.com/?a=1")}), objects, bodies)
def test_good_fields_on_a_good_url_are_accepted(url, obj, body):
    obj = {**obj, **url, "method": "POST"}
    obj.pop("meta", None)
    accepted = parse(json.dumps(obj if "body" in obj else obj | body).encode())
    assert accepted.url == url["url"]
