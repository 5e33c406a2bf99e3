"""Checks generated C against MISRA C:2012 with cppcheck's addon."""
