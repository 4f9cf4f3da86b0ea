"""The groups' own arithmetic, and the command line."""

import io
import zipfile

import pytest

from benchmarks import cli
from benchmarks.bench import Bench
from benchmarks.errors import BenchError
from benchmarks.fake_nodes import spiders
from benchmarks.figures import Figure
from benchmarks.groups import GROUPS, ON_DEMAND
from benchmarks.groups.politeness import Manners, manners
from benchmarks.groups.startup import plain_egg
from benchmarks.groups.storage import share
from benchmarks.results import Row
from benchmarks.site import ROWS, list_body


def test_manners_count_what_is_allowed_and_what_came_too_soon():
    arrivals = [(at, "a", "/p/1") for at in (0.5, 1.0, 2.0, 2.5, 3.5)] + [(1.2, "b", "/p/2"), (9.0, "b", "/p/3")]
    # In three seconds two hosts allow six requests; the one before the window counts for nothing.
    assert manners(arrivals, hosts=2, begin=1.0, end=4.0) == Manners(share=5 / 6, violations=1, requests=5, nearest=0.5)


def test_a_share_that_is_lost_is_what_is_missing():
    assert share([90.0, 80.0, 85.0], [100.0, 100.0, 100.0]) == Figure(
        pytest.approx(0.15), pytest.approx(0.1), pytest.approx(0.2)
    )


def test_the_nodes_of_the_bench_list_the_spiders_of_the_project():
    assert {"catalogue", "feed", "site", "sitemap"} <= set(spiders())


def test_the_egg_beside_ours_is_a_project_for_scrapyd():
    with zipfile.ZipFile(io.BytesIO(plain_egg())) as egg:
        assert "settings = plain.settings" in egg.read("EGG-INFO/entry_points.txt").decode()
        for name in egg.namelist():
            if name.endswith(".py"):
                compile(egg.read(name), name, "exec")


def test_a_list_has_its_rows():
    assert list_body(7).count('<li class="item">') == ROWS


def test_every_group_says_what_it_measures_and_runs():
    for group in GROUPS.values():
        assert group.__doc__
        assert callable(group.run)


@pytest.mark.parametrize(
    ("only", "groups"),
    [
        ("", [name for name in GROUPS if name not in ON_DEMAND]),
        ("memory", ["memory"]),
        ("memory,growth loss", ["memory", "growth", "loss"]),
    ],
)
def test_the_groups_asked_for_run(only, groups):
    assert cli.parse(["--only", only]).groups == groups


def test_a_group_that_is_none_is_wrong_use(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.parse(["--only", "speed"])
    assert ended.value.code == 2
    assert "there is no group 'speed': throughput" in capsys.readouterr().err


class Fake:
    """A group.

    It adds a row and then fails with ``error``.
    """

    def __init__(self, error: BaseException | None = None, ok: bool = True) -> None:
        self.error = error
        self.ok = ok

    def run(self, bench):
        bench.add(Row.of("fake: row", 1.0, "s", valid=self.ok))
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    ("group", "code"),
    [
        (Fake(), 0),
        (Fake(ok=False), 1),
        (Fake(BenchError("no such luck")), 1),
        (Fake(ZeroDivisionError("a bug")), 1),
        (Fake(KeyboardInterrupt()), 130),
    ],
)
def test_rows_are_kept_and_the_exit_code_tells_whatever_a_group_does(group, code, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cli, "GROUPS", {"fake": group})
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)  # those of pytest stay
    with pytest.raises(SystemExit) as ended:
        cli.main(["--json", str(tmp_path / "rows.json"), "--only", "fake"])
    assert ended.value.code == code
    assert '"fake: row"' in (tmp_path / "rows.json").read_text()
    assert "fake" in capsys.readouterr().out


def test_a_site_of_the_bench_is_smaller_when_quick(tmp_path):
    assert Bench(tmp_path, quick=False).plan.pages >= 5000
    assert Bench(tmp_path, quick=True).plan.pages < 5000


def test_two_rows_of_one_name_are_refused(tmp_path):
    bench = Bench(tmp_path, quick=True)
    bench.add(Row.of("a: b", 1.0, "s"))
    with pytest.raises(ValueError, match="two rows are called 'a: b'"):
        bench.add(Row.of("a: b", 2.0, "times"))
