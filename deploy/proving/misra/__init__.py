"""Compares generated C with MISRA C:2012, by cppcheck's addon."""
