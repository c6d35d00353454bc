"""Serves a kit in a process of its own: ``serve.py official|fastmcp STORE``; prints the port."""

from __future__ import annotations

import socket
import sys

import uvicorn

from kits import official, on_fastmcp

if __name__ == "__main__":
    build = {"official": official, "fastmcp": on_fastmcp}[sys.argv[1]]
    kit = build(sys.argv[2], users=True, queue="tools", lease_ms=10_000)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(kit.app, log_level="error", ws="none")).run(sockets=[listening])
