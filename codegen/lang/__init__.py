"""The language of kernels for users: tensor expressions, schedules, and procs that any board can run."""
