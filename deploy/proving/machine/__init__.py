"""Reads the machine code of a linked program for Cortex-M: functions, calls, and the stack they take."""
