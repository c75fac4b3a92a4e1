"""`python -m dtypelint`."""

from dtypelint.cli import main

main(prog_name="dtypelint")
