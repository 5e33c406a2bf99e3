"""The default points of cores: <core>.json has the knobs of each task for which tuning found better ones."""
