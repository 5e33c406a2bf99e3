"""The tuners by name. Each module provides make(space, seed)."""

TUNERS = {
    "grid": "platforms.tuning.tuners.grid",
    "random": "platforms.tuning.tuners.random",
    "ga": "platforms.tuning.tuners.genetic",
    "anneal": "platforms.tuning.tuners.anneal",
    "model": "platforms.tuning.tuners.model",
    "regression": "platforms.tuning.tuners.regression",
}
