"""The kernel language for users: tensor expressions, schedules, and procs that run on any board."""
