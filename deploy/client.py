"""One Scrapyd node over HTTP: python-scrapyd-api with what it leaves out.

Timeouts, basic authentication with netrc behind it, a path prefix in the node's URL, the endpoints
daemonstatus and status, the version of listspiders, and a job's log. Every answer is checked: what is not
Scrapyd's ``status: ok`` becomes one of our errors, with the node's name in it.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import requests
from scrapyd_api import ScrapydAPI
from scrapyd_api.client import Client
from scrapyd_client.utils import get_auth

from deploy.errors import NodeError, NodeUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.targets import Node

#: Seconds to connect, and to wait for an answer: addversion and a first listspiders start a Scrapy process.
TIMEOUT = (5.0, 60.0)
_SHOWN_CHARS = 300
_READ_CHARS = 10_000


class NodeSession(Client):  # type: ignore[misc] # python-scrapyd-api ships no types
    """The HTTP session of one node; its ``request`` returns Scrapyd's JSON without ``status``."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node
        #: How far the node's clock is before ours, in seconds and half a second exact; None before the first answer.
        self.clock_off: float | None = None
        auth = get_auth(url=node.url, username=node.username, password=node.password)
        if urlsplit(node.url).hostname in {"127.0.0.1", "::1", "localhost"}:
            self.trust_env = False  # HTTP_PROXY, which means nothing on this machine
        # Scrapyd compares UTF-8, requests would send Latin-1.
        self.auth = auth and (auth.username.encode(), auth.password.encode())

    def send_raw(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        """The answer as it came.

        Raises:
            NodeUnreachable: No connection, or no answer in time.
            NodeError: The node refused the password, or its URL leads elsewhere.
        """
        name, base = self.node.name, self.node.url
        # A POST that follows a redirect becomes a GET, and a password must not follow to another host.
        kwargs["allow_redirects"] = False
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = TIMEOUT
        sent_at = time.time()
        try:
            response = requests.Session.request(self, method, url, **kwargs)
        except requests.exceptions.SSLError as error:
            raise NodeUnreachable(f"{name}: TLS failed at {base}: {error}") from error
        except requests.exceptions.Timeout as error:
            raise NodeUnreachable(
                f"{name}: no answer from {base} within {kwargs['timeout'][-1]:g} s; is it overloaded?"
            ) from error
        except requests.exceptions.RequestException as error:
            raise NodeUnreachable(
                f"{name}: cannot connect to {base}; is Scrapyd running there? ({_root_cause(error)})"
            ) from error
        self._read_clock(response, (sent_at + time.time()) / 2)
        if response.status_code == requests.codes.unauthorized:
            raise NodeError(
                f"{name}: {base} refused the username or password; correct them in scrapy.cfg, the environment or netrc"
            )
        if response.is_redirect:
            raise NodeError(
                f"{name}: {base} redirects to {response.headers['location']}; put the new address into scrapy.cfg"
            )
        return response

    def _read_clock(self, response: requests.Response, at: float) -> None:
        with suppress(ValueError, TypeError):
            # Whole seconds, cut off: the middle of that second is the best guess.
            self.clock_off = parsedate_to_datetime(response.headers.get("Date", "")).timestamp() + 0.5 - at

    def request(self, method: str, url: str, **kwargs: Any) -> dict[str, Any]:
        """Scrapyd's answer, checked.

        Raises:
            NodeError: An answer that is not Scrapyd's success. And what ``send_raw`` raises.
        """
        name = self.node.name
        response = self.send_raw(method, url, **kwargs)
        endpoint = url.rsplit("/", 1)[-1]
        try:
            answer = response.json()
        except ValueError as error:
            raise NodeError(
                f"{name}: {endpoint} answered HTTP {response.status_code} and no JSON, so {self.node.url} is probably "
                f"no Scrapyd (a proxy?); correct its url in scrapy.cfg. It says: {_words(response.text)}"
            ) from error
        if not isinstance(answer, dict) or answer.get("status") not in {"ok", "error"}:
            raise NodeError(f"{name}: {endpoint} answered what Scrapyd never says: {response.text[:_SHOWN_CHARS]}")
        # Scrapyd sends its errors as HTTP 200 as well.
        if answer.pop("status") == "error" or not response.ok:
            raise NodeError(f"{name}: {endpoint}: {str(answer.get('message', response.reason)).strip()}")
        return answer


class NodeClient(ScrapydAPI):  # type: ignore[misc] # python-scrapyd-api ships no types
    """``ScrapydAPI`` for one of our nodes; every method raises only ``NodeError`` and ``NodeUnreachable``."""

    def __init__(self, node: Node, timeout: tuple[float, float] = TIMEOUT) -> None:
        endpoints = {"daemon_status": "/daemonstatus.json", "status": "/status.json"}
        self.node = node
        self.session = NodeSession(node)
        super().__init__(node.url, client=self.session, timeout=timeout, endpoints=endpoints)

    def _build_url(self, endpoint: str) -> str:
        # Upstream joins an absolute path, which throws a prefix such as https://host/scrapyd/ away.
        path: str = self.endpoints[endpoint]
        return urljoin(self.node.url, path.lstrip("/"))

    def daemon_status(self) -> dict[str, Any]:
        """Counts of ``pending``, ``running`` and ``finished`` jobs, and Scrapyd's ``node_name``."""
        answer: dict[str, Any] = self.client.get(self._build_url("daemon_status"), timeout=self.timeout)
        return answer

    def all_jobs(self) -> dict[str, list[dict[str, Any]]]:
        """The jobs of all projects: ``pending``, ``running`` and ``finished``."""
        answer: dict[str, list[dict[str, Any]]] = self.client.get(self._build_url("list_jobs"), timeout=self.timeout)
        return answer

    def status(self, job: str, project: str | None = None) -> str | None:
        """``pending``, ``running``, ``finished``, or None where the node knows no such job."""
        params = {"job": job} | ({"project": project} if project else {})
        answer = self.client.get(self._build_url("status"), params=params, timeout=self.timeout)
        state: str | None = answer["currstate"]
        return state

    def start(
        self,
        project: str,
        spider: str,
        *,
        job: str,
        version: str,
        arguments: Mapping[str, str],
        settings: Mapping[str, str],
    ) -> None:
        """Schedule a job under an id of our own, so that one whose answer got lost can still be found.

        Upstream's ``schedule`` takes spider arguments as keywords, so that none can be called ``settings``.
        """
        data = {**arguments, "project": project, "spider": spider, "jobid": job, "_version": version}
        pairs = [f"{name}={value}" for name, value in settings.items()]
        self.client.post(self._build_url("schedule"), data={**data, "setting": pairs}, timeout=self.timeout)

    def list_spiders(self, project: str, version: str | None = None) -> list[str]:
        """The spiders of ``version``, or of what Scrapyd takes for the newest one."""
        params = {"project": project} | ({"_version": version} if version else {})
        answer = self.client.get(self._build_url("list_spiders"), params=params, timeout=self.timeout)
        spiders: list[str] = answer["spiders"]
        return spiders

    def job_log(self, job: Mapping[str, Any], tail_bytes: int = 20_000) -> str:
        """The end of a job's log; ``job`` is an entry of ``list_jobs``.

        Raises:
            NodeError: The node keeps no log of this job (pending, or pruned).
        """
        if not job.get("log_url"):
            raise NodeError(f"{self.node.name}: job {job['id']} has no log yet")
        url = urljoin(self.node.url, str(job["log_url"]).lstrip("/"))
        # Twisted answers 500 to "the last n bytes" of a file that has fewer, so the size comes first.
        size = int(self._log("HEAD", url, job).headers.get("content-length", 0))
        if not size:
            return ""
        response = self._log("GET", url, job, headers={"Range": f"bytes={max(0, size - tail_bytes)}-"})
        return response.content.decode("utf-8", errors="replace")

    def log_head(self, job: Mapping[str, Any], head_bytes: int = 20_000) -> str:
        """The beginning of a job's log; empty where there is none yet. ``job`` is an entry of ``list_jobs``.

        Raises:
            NodeUnreachable: The node does not answer.
        """
        if not job.get("log_url"):
            return ""
        url = urljoin(self.node.url, str(job["log_url"]).lstrip("/"))
        headers = {"Range": f"bytes=0-{head_bytes - 1}"}
        response = self.session.send_raw("GET", url, timeout=self.timeout, headers=headers)
        return response.content.decode("utf-8", errors="replace") if response.ok else ""

    def _log(self, method: str, url: str, job: Mapping[str, Any], **kwargs: Any) -> requests.Response:
        response = self.session.send_raw(method, url, timeout=self.timeout, **kwargs)
        if not response.ok:
            raise NodeError(f"{self.node.name}: the log of job {job['id']} is gone (HTTP {response.status_code})")
        return response


def _words(page: str) -> str:
    """What a person reads on an HTML page, on one line, its beginning."""
    text = re.sub(r"(?s)<(style|script)\b.*?</\1>|<[^>]*>", " ", page[:_READ_CHARS])
    return " ".join(text.split())[:_SHOWN_CHARS] or "nothing"


def _root_cause(error: BaseException) -> str:
    """The innermost reason, without the object addresses that urllib3 prints."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return getattr(error, "strerror", None) or type(error).__name__
