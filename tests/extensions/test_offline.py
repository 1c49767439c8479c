import json
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
# A guard can't be taken off again: it is tried in a process of its own, which loads it as a build
# does, and in one that this process starts.
START = """
import subprocess, sys
import offline
attempts = sys.argv[1]
offline.setup(None)
sys.argv = ["-c", "offline.sitecustomize"]
exec(attempts)
subprocess.run([sys.executable, "-c", attempts, "sitecustomize"], check=True)
"""
TRY = """
import json, socket, sys, tempfile, pathlib

guard = sys.modules[sys.argv[1]]  # it is there already

def attempt(connect):
    try:
        connect()
    except PermissionError as error:
        return f"refused: {error}"
    except OSError:
        return "tried"
    return "reached"

def connect(address, kind=socket.SOCK_STREAM, family=socket.AF_INET):
    with socket.socket(family, kind) as one:
        one.settimeout(1)
        one.sendto(b"", address) if kind == socket.SOCK_DGRAM else one.connect(address)

with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
    path = str(pathlib.Path(folder, "socket"))
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen()
    print(json.dumps({
        "connect": attempt(lambda: connect(("192.0.2.1", 80))),
        "datagram": attempt(lambda: connect(("192.0.2.1", 80), socket.SOCK_DGRAM)),
        "name": attempt(lambda: socket.getaddrinfo("example.org", 80)),
        "here": attempt(lambda: connect(server.getsockname())),
        "file": attempt(lambda: connect(path, family=socket.AF_UNIX)),
        "is_here": [guard.is_here(host) for host in
                    (None, "", "localhost", b"localhost", "127.0.0.1", "127.8.8.8", "::1")],
        "is_away": [guard.is_here(host) for host in
                    ("example.org", "localhost.example.org", "192.0.2.1", b"192.0.2.1", "::2")],
    }), flush=True)
"""


def test_no_way_leads_off_this_machine_and_those_on_it_stay_open():
    """The build carries a guard into its own process and into all that it starts."""
    assert '"offline"' in (DOCS / "conf.py").read_text()
    done = subprocess.run(
        [sys.executable, "-c", START, TRY],
        env={"PYTHONPATH": str(DOCS / "_ext")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    own, child = map(json.loads, done.stdout.splitlines())
    for tried in (own, child):
        for way in ("connect", "datagram", "name"):
            assert tried[way].startswith("refused: pages execute without leaving this machine"), way
        assert (tried["here"], tried["file"]) == ("reached", "reached")
        assert all(tried["is_here"])
        assert not any(tried["is_away"])
