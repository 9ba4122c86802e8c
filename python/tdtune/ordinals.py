# SPDX-License-Identifier: MIT
"""Floating-point numbers as integers in the same order.

Not every backend reduces double precision (HCCL does not). As integers of 64 bits in the same
order the values go through all of them, bit for bit.
"""

import struct

_LOW = 0x7FFF_FFFF_FFFF_FFFF


def from_values(values: list[float]) -> list[int]:
    """Return the ordinals of numbers: signed, of 64 bits."""
    bits = struct.unpack(f"{len(values)}q", struct.pack(f"{len(values)}d", *values))
    return [b if b >= 0 else b ^ _LOW for b in bits]


def to_values(ordinals: list[int]) -> list[float]:
    """Return the numbers that have these ordinals."""
    bits = [b if b >= 0 else b ^ _LOW for b in ordinals]
    return list(struct.unpack(f"{len(bits)}d", struct.pack(f"{len(bits)}q", *bits)))
