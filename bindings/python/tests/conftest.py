"""What holds for every test."""

from __future__ import annotations

import signal

# A shell starts what it runs in the background with SIGINT ignored, and so would be the processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
