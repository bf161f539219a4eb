"""Packs a tree of plain values and arrays into bytes, and unpacks it exactly."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from wevent.errors import CorruptState

_MAGIC = b"wevent-ledger-1\n"


def pack(tree: dict[str, Any]) -> bytes:
    """Nested dicts of ints, strings, None and numeric arrays as bytes with a checksum."""
    blobs: list[bytes] = []
    head = json.dumps(_flatten(tree, blobs)).encode()
    body = len(head).to_bytes(8, "little") + head + b"".join(blobs)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes) -> dict[str, Any]:
    """The tree again; anything cut, changed or foreign raises `CorruptState`."""
    start = len(_MAGIC) + 32
    if data[: len(_MAGIC)] != _MAGIC:
        raise CorruptState("these bytes are not a ledger of this version; restore them from the store that wrote them")
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise CorruptState("the ledger's bytes are damaged (checksum differs); restore them from a whole copy")
    length = int.from_bytes(body[:8], "little")
    tree: dict[str, Any] = _inflate(json.loads(body[8 : 8 + length]), memoryview(body)[8 + length :])
    return tree


def _flatten(node: Any, blobs: list[bytes]) -> Any:
    if isinstance(node, dict):
        return {"d": {key: _flatten(value, blobs) for key, value in node.items()}}
    if isinstance(node, np.ndarray):
        start = sum(map(len, blobs))
        blobs.append(np.ascontiguousarray(node).tobytes())
        return {"a": [node.dtype.str, list(node.shape), start, len(blobs[-1])]}
    return {"v": node}


def _inflate(node: dict[str, Any], blob: memoryview) -> Any:
    if "d" in node:
        return {key: _inflate(value, blob) for key, value in node["d"].items()}
    if "a" in node:
        kind, shape, start, length = node["a"]
        return np.frombuffer(blob[start : start + length], dtype=kind).reshape(shape).copy()
    return node["v"]
