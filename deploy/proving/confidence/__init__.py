"""Says what made the code, and which tests and foreign programs that is held against."""
