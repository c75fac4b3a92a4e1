#!/usr/bin/env bash
# What the smoke probes see on this machine's GPU, as a Markdown table with date, device and versions; under three minutes.
# Needs a Python 3.11 or newer that has torch, and nothing else of this project installed:
#   bash tools/gpu_check.sh [python3] [cuda|cpu|auto]
# Status 0: every row is as expected. A row that this machine cannot show says why and is not counted.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
exec "${1:-python3}" "$root/tools/gpu_check.py" "${2:-auto}"
