"""From Python text to facts: parse, bind names, follow values."""
