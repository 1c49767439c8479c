"""Read by every Python that starts with this folder on its path: no way off this machine."""

import ipaddress
import sys


def is_here(host: object) -> bool:
    """Tell whether a name or an address is this machine's own."""
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False  # another name


def refuse(event: str, arguments: tuple) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if not isinstance(address, tuple):
            return  # a socket of the file system
        host = address[0]
    else:
        return
    if not is_here(host):
        raise PermissionError(f"pages execute without leaving this machine; {host} was asked for")


sys.addaudithook(refuse)
