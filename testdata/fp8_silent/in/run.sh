#!/usr/bin/env bash
set -euo pipefail
export FP8_BACKEND=TE
accelerate launch --config_file configs/fp8_fsdp.yaml -m tuner.train --output runs/fsdp
