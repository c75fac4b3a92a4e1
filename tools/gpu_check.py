"""The rows of `gpu_check.sh`: jobs for the smoke driver, each with what it is expected to show."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from dtypelint.errors import UserError
from dtypelint.smoke.session import Session

LIMIT = 170.0
BF16, FP16, FP32 = ({"dtype": name} for name in ("bfloat16", "float16", "float32"))
Row = tuple[str, dict[str, Any], str, str]


def policy(family: str, key: str, expected: str, **fields: Any) -> Row:
    shown = ", ".join(
        f"{name}={value['dtype'] if isinstance(value, dict) else value}" for name, value in fields.items()
    )
    return (f"{family}({shown}): {key}", {"probe": "policy", "family": family, "fields": fields}, key, expected)


def region(expected: str, weights: str = "float32", **fields: Any) -> Row:
    dtype = fields.get("dtype", {"dtype": "no dtype"})["dtype"]
    off = "" if fields.get("enabled", True) else ", off"
    label = f"autocast(cuda, {dtype}{off}) over {weights} weights: product"
    job = {
        "probe": "autocast",
        "asked": "cuda",
        "weights": {"dtype": weights},
        "fields": {"device_type": "cuda", **fields},
    }
    return (label, job, "matmul", expected)


def nested(expected: str, outer: dict[str, Any], inner: dict[str, Any]) -> Row:
    around, inside = ({"asked": "cuda", "fields": {"device_type": "cuda", **each}} for each in (outer, inner))
    label = f"autocast(cuda{', off' if inner else ''}) inside autocast(cuda, bfloat16): product"
    return (label, {"probe": "autocast", "around": [around], **inside}, "matmul", expected)


def weights(probe: str, dtype: dict[str, str], key: str, expected: str, **more: Any) -> Row:
    return (f"{probe} in {dtype['dtype']} {more or ''}: {key}", {"probe": probe, "dtype": dtype, **more}, key, expected)


def cast(past: list[str], expected: str) -> Row:
    action = ["data", ["item"], ["cast", "to", ["data", ["item"]]]]
    job = {"probe": "cast", "container": "parameters", "past": past, "dtype": FP32, "action": action}
    return (f"p.data = p.data.to(float32) after {past or 'nothing'}: local shard", job, "dtype", expected)


def rounds(events: list[list[str]], expected: str, label: str) -> Row:
    return (label, {"probe": "scaler-rounds", "events": events, "scale": 65536.0}, "updates", expected)


SCALED = [["backward", "scaler"], ["clip", "opt"], ["scaled_step", "opt"], ["update", ""]]
ROWS: list[Row] = [
    policy("fsdp2", "reduce_scatter", "bfloat16", param_dtype=BF16),
    policy("fsdp2", "reduce_scatter", "float32", param_dtype=BF16, reduce_dtype=FP32),
    policy("fsdp2", "all_gather", "float16", param_dtype=FP16, reduce_dtype=FP32),
    policy("fsdp2", "all_reduce", "float32", param_dtype=BF16, reduce_dtype=FP32),
    policy("fsdp1", "reduce_scatter", "bfloat16", param_dtype=BF16),
    policy("fsdp1", "reduce_scatter", "float32", param_dtype=BF16, reduce_dtype=FP32),
    policy("ddp", "all_reduce", "float32"),
    policy("ddp", "all_reduce", "float16", hook="fp16_compress_hook"),
    policy("ddp", "all_reduce", "bfloat16", hook="bf16_compress_hook"),
    policy("ddp", "matmul", "bfloat16", param_dtype=BF16),
    region("float16"),
    region("bfloat16", dtype=BF16),
    region("float32", dtype=FP32),
    region("float32", "bfloat16", dtype=FP32),
    region("bfloat16", "bfloat16", dtype=FP32, enabled=False),
    nested("bfloat16", {"dtype": BF16}, {}),
    nested("float32", {"dtype": BF16}, {"enabled": False}),
    cast([], "float32"),
    cast(["fully_shard"], "bfloat16"),
    rounds(SCALED, "x1.53e-05", "clip before unscale_: update"),
    rounds([SCALED[0], ["unscale", "opt"], *SCALED[1:]], "x1", "clip after unscale_: update"),
    ("FSDP1 with GradScaler: found_inf", {"probe": "scaler-ranks", "family": "any"}, "found_inf", "left to each rank"),
    (
        "FSDP1 with ShardedGradScaler: found_inf",
        {"probe": "scaler-ranks", "family": "sharded"},
        "found_inf",
        "reduced over the ranks",
    ),
    (
        "accelerate, fp8 with AO: fp8",
        {
            "probe": "fp8",
            "build": True,
            "suffix": ".json",
            "text": '{"mixed_precision": "fp8", "fp8_config": {"backend": "AO"}}',
        },
        "fp8",
        "in use",
    ),
    (
        "torchao, fp8 all-gather of FSDP2: all_gather",
        {
            "probe": "fp8-convert",
            "bound": True,
            "sharded": True,
            "flags": {"enable_fsdp_float8_all_gather": True},
        },
        "all_gather",
        "float8_e4m3fn",
    ),
    weights("average", BF16, "moved", "not all"),
    weights("average", FP32, "moved", "all"),
    weights("masters", BF16, "moved", "not all"),
    weights("masters", FP32, "moved", "all"),
    weights("underflow", FP16, "arrive", "few", scaled=False),
    weights("underflow", FP16, "arrive", "most", scaled=True),
    (
        "two ranks, reduce_dtype=bfloat16: mean",
        {"probe": "witness", "family": "fsdp2", "fields": {"param_dtype": BF16}},
        "mean",
        "0.5",
    ),
    (
        "two ranks, reduce_dtype=float32: mean",
        {"probe": "witness", "family": "fsdp2", "fields": {"param_dtype": BF16, "reduce_dtype": FP32}},
        "mean",
        "0.5009765625",
    ),
]


def main(device: str) -> int:
    """Print the table; 1 where something else was seen than expected."""
    session = Session(device=device, timeout=LIMIT, newest="99.0")
    try:
        answers = session.drive([job for _, job, _, _ in ROWS])
    except UserError as error:
        print(error)
        return 2
    machine = session.machine
    today = dt.datetime.now(dt.UTC).date()
    print(f"{today}, {machine.name or machine.device} ({machine.gpus} GPUs), torch {machine.torch}\n")
    print("| what | expected | seen | | time |\n| --- | --- | --- | --- | --- |")
    wrong = 0
    for (label, _, key, expected), answer in zip(ROWS, answers, strict=True):
        seen = answer.notes.get(key) or answer.error or str(answer.reason or "nothing")
        unseen = f"not here: {answer.reason}" if answer.reason is not None else ""
        verdict = unseen or ("as expected" if seen == expected else "**OTHERWISE**")
        wrong += verdict.startswith("**")
        print(f"| {label} | {expected} | {seen.splitlines()[0][:80]} | {verdict} | {answer.seconds:.2f} s |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
