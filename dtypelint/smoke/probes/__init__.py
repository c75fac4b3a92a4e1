"""What the driver runs: one module a probe, each of which drives a real operation of torch and returns what it saw."""
