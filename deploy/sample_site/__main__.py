"""``python -m deploy.sample_site [--host 127.0.0.1] [--port 8000]``: serve until interrupted."""

from __future__ import annotations

import argparse
import contextlib
import threading

from deploy.sample_site import serve


def main() -> None:
    """Serve the sample site, and say where."""
    parser = argparse.ArgumentParser(prog="python -m deploy.sample_site", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=int, default=8000, help="the port; 0 for a free one (default: %(default)s)"
    )
    options = parser.parse_args()
    with serve(options.host, options.port) as site, contextlib.suppress(KeyboardInterrupt):
        print(site.url, flush=True)  # noqa: T201 - data on stdout: the address
        threading.Event().wait()


main()
