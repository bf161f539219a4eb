"""Runs commands in the process of a test, and gives back what they printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from wevent.cli.main import main


def printed(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    """Everything that a command prints, on both streams; it must end with this exit code."""
    capsys.readouterr()
    assert main(words) == code, capsys.readouterr()
    captured = capsys.readouterr()
    return captured.out + captured.err


def config(folder: Path) -> list[str]:
    """The option that names the configuration in a folder."""
    return ["--config", str(folder / "wevent.toml")]
