"""Checks C against the CERT C rules of clang-tidy."""
