"""Every board that has a file, read once for all modules that choose their cases among them."""

from platforms.board_files import all_boards

EVERY_BOARD = all_boards()
