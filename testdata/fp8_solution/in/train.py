"""Launched with `accelerate launch --config_file accelerate.yaml train.py`."""

from accelerate import Accelerator


def main(model, optimizer, batches):
    accelerator = Accelerator()
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for batch in batches:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
