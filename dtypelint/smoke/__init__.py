"""Proves at run time what a fix changes: the real torch operation is driven before and after it."""
