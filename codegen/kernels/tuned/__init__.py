"""The default points of cores: <core>.json has better knobs, found by tuning, for some tasks."""
