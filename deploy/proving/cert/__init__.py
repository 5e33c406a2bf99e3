"""Compares C with the rules of CERT C that clang-tidy checks."""
