"""Lists the tools that created the code, and the tests and third-party programs that verify them."""
