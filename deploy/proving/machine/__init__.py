"""Analyzes the machine code of a linked Cortex-M program: functions, calls and stack usage."""
