"""A primary election in the middle of a crawl into a replica set of three members; and TLS."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import pytest
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, OperationFailure, PyMongoError

from deploy.local import binaries
from deploy.local.processes import free_port
from tests.storage.crawls import SPIDER
from tests.storage.waiting import wait_for

PAGES = 150


class Member:
    """One mongod, without users; it says when it listens."""

    def __init__(self, directory, *options):
        self.port = free_port()
        directory.mkdir()
        command = [binaries.mongod(), "--bind_ip", "127.0.0.1", "--port", str(self.port), "--nounixsocket"]
        command += ["--dbpath", directory, "--wiredTigerCacheSizeGB", "0.25", *options]
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(command, cwd=directory, stdout=log)

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def replica_set(server_directory):
    """The members and the URI of a set that has a primary."""
    members = []
    try:
        members += [Member(server_directory / name, "--replSet", "rs", "--oplogSize", "50") for name in "abc"]
        config = {
            "_id": "rs",
            "settings": {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200},
            "members": [{"_id": number, "host": f"127.0.0.1:{member.port}"} for number, member in enumerate(members)],
        }
        with MongoClient("127.0.0.1", members[0].port, directConnection=True) as client:
            wait_for(lambda: initiated(client, config), "members that answer one another")
            wait_for(lambda: client.admin.command("hello")["isWritablePrimary"], "the first election")
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in members)
        yield members, f"mongodb://{hosts}/?replicaSet=rs"
    finally:
        for member in members:
            member.stop()


def initiated(client, config):
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure:  # a member that has only just started does not answer its peers yet
        return False
    return True


def step_down(client, members):
    # The connection may be closed before the answer comes, which is what was asked for.
    with suppress(AutoReconnect, OperationFailure):
        client.admin.command("replSetStepDown", 10, force=True)


def kill(client, members):
    port = client.primary[1]
    next(member for member in members if member.port == port).stop()


@pytest.mark.parametrize("leave", [step_down, kill])
def test_an_election_loses_nothing_and_counts_nothing_twice(crawl, numbers, replica_set, leave):
    members, uri = replica_set
    spider = SPIDER.format(site=numbers, pages=PAGES)
    with (
        MongoClient(uri) as client,
        crawl(spider, MONGO_URI=uri, MONGO_DATABASE="election", DOWNLOAD_DELAY=0.02) as run,
    ):
        items = client["election"]["items"]
        wait_for(lambda: items.count_documents({}) > 20, "the first items")
        before = client.primary
        leave(client, members)
        wait_for(lambda: elected(client, before), "the election")
        assert run.wait() == 0, run.log

        assert run.finish_reason == "finished", run.log
        assert {item["number"] for item in items.find()} == set(range(PAGES))
        assert items.count_documents({"fetch_count": 1}) == PAGES


def elected(client, before):
    try:
        client.admin.command("ping")
    except PyMongoError:
        return False
    return client.primary not in (None, before)


@pytest.fixture
def certificate(tmp_path):
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    file = tmp_path / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", tmp_path / "key", "-out", tmp_path / "cert"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    file.write_text((tmp_path / "cert").read_text() + (tmp_path / "key").read_text())
    return file


def test_a_crawl_stores_over_tls(crawl, numbers, server_directory, certificate):
    options = ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificate]
    server = Member(server_directory / "tls", *options)
    try:
        uri = f"mongodb://127.0.0.1:{server.port}/?tls=true&tlsCAFile={certificate}"
        with crawl(SPIDER.format(site=numbers, pages=5), MONGO_URI=uri) as run:
            assert run.wait() == 0, run.log
            assert run.stat("mongo/inserted") == 5, run.log
    finally:
        server.stop()
