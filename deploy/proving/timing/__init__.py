"""Compares a model's execution on very different inputs."""
