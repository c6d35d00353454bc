"""Keeps the leases of all work that is held through one manager in this process, by one call for all of it."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING, Protocol

from ._async import descriptors
from ._errors import InvalidHandleError, TaskholdError, TimeoutError, UnsupportedError
from .events import Events

if TYPE_CHECKING:
    from .manager import TaskManager

# Most tasks that one call renews.
_AT_ONCE = 1000

# How long the thread stays when nothing is held any more: a worker goes on with the next task.
_LINGER = 1.0

# After a storage failure, until the events are asked for again.
_AGAIN = 0.5


class Held(Protocol):
    """Work that is held."""

    task_id: str
    lease: int
    lease_ms: int

    def interrupt(self, reason: str) -> None:
        """Tell it to stop, from any thread."""


class Renewer:
    """A thread that renews at a third of each lease, and tells work that its client asks for cancelation.

    A thread, so that a loop that is kept busy by a long step keeps its leases all the same. It ends when nothing is
    held, and does not keep the interpreter from ending.
    """

    def __init__(self, manager: TaskManager) -> None:
        self._manager = weakref.ref(manager)
        self._lock = threading.Lock()
        self._held: dict[str, Held] = {}
        # When the leases of one length are renewed next.
        self._due: dict[int, float] = {}
        self._bell: socket.socket | None = None

    def add(self, work: Held) -> None:
        """Keep the lease of this from now on."""
        with self._lock:
            self._held[work.task_id] = work
            if self._bell is None:
                # Once at once: a client may have asked for cancelation since the claim.
                self._due[work.lease_ms] = 0
                listening, self._bell = socket.socketpair()
                run = threading.Thread(
                    target=self._run, args=(self._manager(), listening, self._bell), name="taskhold-leases", daemon=True
                )
                run.start()
            elif work.lease_ms not in self._due:
                self._ring()

    def remove(self, work: Held) -> None:
        """Keep it no longer."""
        with self._lock:
            if self._held.get(work.task_id) is work:
                del self._held[work.task_id]
                if not self._held:
                    self._ring()

    def wake_all_soon(self) -> None:
        """Renew everything now: a manual clock was moved."""
        with self._lock:
            self._due = dict.fromkeys(self._due, 0)
            self._ring()

    def _ring(self) -> None:
        if self._bell is not None:
            with contextlib.suppress(OSError):
                self._bell.send(b"!", getattr(socket, "MSG_DONTWAIT", 0))

    def _run(self, manager: TaskManager, listening: socket.socket, bell: socket.socket) -> None:
        try:
            while self._bell is bell:
                try:
                    with manager.open_events() as events:
                        self._watch(manager, events, listening, bell)
                except InvalidHandleError:
                    # The manager is closed, and each call of the work says so.
                    return
                except TaskholdError:
                    # The storage failed.
                    time.sleep(_AGAIN)
        finally:
            with self._lock:
                self._end(bell)
            listening.close()

    def _watch(self, manager: TaskManager, events: Events, listening: socket.socket, bell: socket.socket) -> None:
        watched = -1
        with contextlib.suppress(UnsupportedError), descriptors():
            watched = os.dup(events.fd())
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(listening, selectors.EVENT_READ)
                if watched >= 0:
                    selector.register(watched, selectors.EVENT_READ)
                self._keep(manager, events, selector, listening, bell, watched)
        finally:
            if watched >= 0:
                os.close(watched)

    def _end(self, bell: socket.socket) -> None:
        """Have the next that is held start a thread again."""
        if self._bell is bell:
            self._bell = None
        bell.close()

    def _keep(
        self,
        manager: TaskManager,
        events: Events,
        selector: selectors.BaseSelector,
        listening: socket.socket,
        bell: socket.socket,
        watched: int,
    ) -> None:
        last = time.monotonic()
        while True:
            now = time.monotonic()
            with self._lock:
                lengths = {work.lease_ms for work in self._held.values()}
                self._due = {length: self._due.get(length, now + length / 3000) for length in lengths}
                pause = min(self._due.values(), default=last + _LINGER) - now
                if not lengths and pause <= 0:
                    self._end(bell)
                    return
            woken = [key.fileobj for key, _ in selector.select(max(0.0, pause))]
            if listening in woken:
                listening.recv(4096)
            if watched in woken:
                self._tell(events)
            for length in [length for length, due in self._due.items() if due <= time.monotonic()]:
                self._renew(manager, length)
            if lengths:
                last = time.monotonic()

    def _tell(self, events: Events) -> None:
        for _ in range(_AT_ONCE):
            try:
                event = events.next(0)
            except TimeoutError:
                return
            if event["event"] == "lagged":
                self.wake_all_soon()
            elif event["event"] == "cancelation_requested":
                with self._lock:
                    work = self._held.get(event["taskId"])
                if work is not None:
                    work.interrupt("cancelation_requested")

    def _renew(self, manager: TaskManager, length: int) -> None:
        begun = time.monotonic()
        with self._lock:
            works = [work for work in self._held.values() if work.lease_ms == length]
            # Before the call: who wakes this meanwhile has it made again.
            self._due[length] = begun + length / 3000
        for at in range(0, len(works), _AT_ONCE):
            some = {work.task_id: work for work in works[at : at + _AT_ONCE]}
            try:
                outcome = manager.renew_leases(
                    [{"task_id": work.task_id, "lease": work.lease} for work in some.values()], lease_ms=length
                )
            except InvalidHandleError:
                raise
            except TaskholdError:
                # The storage failed: again soon. Whether a lease is lost meanwhile is not known here.
                with self._lock:
                    self._due[length] = min(self._due.get(length, begun), begun + length / 10_000)
                continue
            reasons = dict.fromkeys(outcome["lost"], "lease_lost")
            reasons |= dict.fromkeys(outcome["cancelationRequested"], "cancelation_requested")
            with self._lock:
                concerned = [(some[one], reason) for one, reason in reasons.items() if self._held.get(one) is some[one]]
            for work, reason in concerned:
                work.interrupt(reason)
