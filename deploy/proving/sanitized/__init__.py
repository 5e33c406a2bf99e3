"""Runs generated C under clang's integer sanitizers, and parses their reports."""
