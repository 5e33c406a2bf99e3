"""The folder of the board and of its core."""
