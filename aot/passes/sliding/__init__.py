"""Models over a window that slides: a model of one hop that computes only what changed."""
