"""Git for the tests, whatever the settings of the user."""

from __future__ import annotations

import os
import subprocess


def git(*args: str) -> str:
    config = ["user.name=t", "user.email=t@example.org", "commit.gpgsign=false", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    options = [word for item in config for word in ("-c", item)]
    done = subprocess.run(["git", *options, *args], capture_output=True, check=True, text=True, env=environment)
    return done.stdout.strip()


def commit() -> None:
    git("add", "-A")
    git("commit", "-qm", "x", "--allow-empty")
