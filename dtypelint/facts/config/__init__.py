"""Configuration files: YAML, JSON, shell scripts and Dockerfiles as plain facts with exact positions."""
