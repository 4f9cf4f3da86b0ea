"""One node over HTTP: whatever it answers, the user reads which node, what happened and what to do."""

from __future__ import annotations

import base64
import socket
import threading

import pytest
from scrapyd_api import ScrapydAPI

from deploy.client import NodeClient
from deploy.errors import ConnectError, NodeError, NodeUnreachable
from deploy.targets import Node
from tests.deploy.fake_node import fake_node

STATUS = {"status": "ok", "pending": 1, "running": 2, "finished": 3, "node_name": "n"}


def test_status_error_is_an_error_though_http_says_200():
    with fake_node((200, {"status": "error", "message": "version 'x' not found"})) as fake:
        client = NodeClient(fake.node("node7"))
        with pytest.raises(NodeError, match=r"node7: schedule\.json: version 'x' not found"):
            client.start("p", "s", job="1", version="x", arguments={}, settings={})


def test_a_page_of_html_is_named_as_not_scrapyd():
    with fake_node((502, "<html><h1>Bad gateway</h1>" + "x" * 5000)) as fake:
        client = NodeClient(fake.node("node7"))
        with pytest.raises(NodeError, match=r"node7: daemonstatus\.json answered HTTP 502 and no JSON") as caught:
            client.daemon_status()
    assert "correct its url in scrapy.cfg. It says: Bad gateway xxx" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("body", [[], "null", {"hello": 1}, {"status": "maybe"}])
def test_json_that_is_not_scrapyds_is_an_error(body):
    with fake_node((200, body)) as fake, pytest.raises(NodeError, match="fake"):
        NodeClient(fake.node()).daemon_status()


def test_a_refused_password_says_where_to_correct_it_and_does_not_show_it():
    with fake_node((401, "Unauthorized")) as fake:
        node = fake.node("node7", username="me", password="hunter2")
        with pytest.raises(NodeError, match=r"node7: .* refused the username or password") as caught:
            NodeClient(node).daemon_status()
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(node)


def test_a_dead_node_is_unreachable():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(NodeUnreachable, match=r"node7: cannot connect .*Connection refused") as caught:
        NodeClient(Node("node7", f"http://127.0.0.1:{port}/")).daemon_status()
    assert isinstance(caught.value, ConnectError)


def test_a_slow_node_does_not_hang_the_command():
    stop = threading.Event()

    def slow():
        stop.wait(30)
        return 200, STATUS

    with fake_node({"*": slow}) as fake:
        with pytest.raises(NodeUnreachable, match=r"node7: no answer from .* within 0\.2 s"):
            NodeClient(fake.node("node7"), timeout=(0.2, 0.2)).daemon_status()
        stop.set()


def test_a_redirect_is_not_followed_and_takes_no_password_with_it():
    with fake_node((200, STATUS)) as elsewhere:
        with fake_node((302, "", {"Location": elsewhere.node().url})) as fake:
            client = NodeClient(fake.node(username="me", password="hunter2"))
            with pytest.raises(NodeError, match="redirects to"):
                client.daemon_status()
        assert not elsewhere.asked


def test_the_prefix_of_a_url_is_kept_where_upstream_drops_it():
    with fake_node({"/farm/7/daemonstatus.json": (200, STATUS), "*": (404, "no")}) as fake:
        node = fake.node(prefix="/farm/7/")
        assert NodeClient(node).daemon_status()["running"] == 2
    assert ScrapydAPI(node.url)._build_url("list_projects").count("/farm/7/") == 0


def test_status_and_spiders_of_a_version_are_asked_for():
    with fake_node((200, {"status": "ok", "currstate": "running", "spiders": ["a"]})) as fake:
        client = NodeClient(fake.node())
        assert client.status("j1", "p") == "running"
        assert client.list_spiders("p", "v1") == ["a"]
        assert fake.asked == ["GET /status.json?job=j1&project=p", "GET /listspiders.json?project=p&_version=v1"]


def test_a_spider_argument_may_be_called_settings():
    with fake_node((200, {"status": "ok", "jobid": "1"})) as fake:
        NodeClient(fake.node()).start(
            "p", "s", job="1", version="v", arguments={"settings": "x"}, settings={"A": "1", "B": "2"}
        )
        assert fake.bodies == [b"settings=x&project=p&spider=s&jobid=1&_version=v&setting=A%3D1&setting=B%3D2"]


def test_a_target_without_username_falls_back_to_netrc(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password from-netrc\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    netrc.rename(tmp_path / ".netrc")
    client = NodeClient(Node("n", "http://127.0.0.1:1/"))
    assert client.session.auth == (b"me", b"from-netrc")


def test_the_end_of_a_jobs_log_is_fetched_through_the_prefix():
    with fake_node({"/x/logs/p/s/1.log": (206, "the end"), "*": (404, "no")}) as fake:
        client = NodeClient(fake.node(prefix="/x/"))
        assert client.job_log({"id": "1", "log_url": "/logs/p/s/1.log"}) == "the end"
        with pytest.raises(NodeError, match="log of job 2 is gone"):
            client.job_log({"id": "2", "log_url": "/logs/p/s/2.log"})
        with pytest.raises(NodeError, match="job 3 has no log yet"):
            client.job_log({"id": "3"})


def test_basic_authentication_is_sent_as_scrapyd_reads_it():
    with fake_node((200, STATUS)) as fake:
        NodeClient(fake.node(username="me", password="a:b€")).daemon_status()
        assert base64.b64decode(fake.headers[0]["Authorization"].removeprefix("Basic ")).decode() == "me:a:b€"
