"""Findings as people and machines read them."""
