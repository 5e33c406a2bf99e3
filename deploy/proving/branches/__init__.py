"""Counts which branches of generated C its tests take, by gcc's gcov."""
