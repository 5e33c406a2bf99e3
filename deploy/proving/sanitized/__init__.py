"""Runs generated C under clang's checks of integers, and reads what they report."""
