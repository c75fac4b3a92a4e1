"""Fine-tuning with the Trainer."""

import argparse
import logging
import os

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from tuner.recipe import fp8_handlers

logger = logging.getLogger(__name__)


def configure(args):
    handlers = fp8_handlers(args)
    logger.info("fp8 with %d handlers", len(handlers))
    os.environ["FP8_BACKEND"] = args.fp8_backend


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="runs")
    parser.add_argument("--fp8", action="store_true")
    parser.add_argument("--fp8_backend", default="torchao")
    args = parser.parse_args()
    configure(args)
    model = AutoModelForCausalLM.from_pretrained("org/model-1b")
    training = TrainingArguments(output_dir=args.output, bf16=True, per_device_train_batch_size=4)
    Trainer(model=model, args=training).train()


if __name__ == "__main__":
    main()
