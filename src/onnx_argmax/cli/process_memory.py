# SPDX-License-Identifier: Apache-2.0
"""What this process holds in memory."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["resident_bytes"]


def resident_bytes() -> int:
    """Bytes of memory that are resident now, as the kernel counts them."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
