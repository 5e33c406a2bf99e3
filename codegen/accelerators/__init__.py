"""What computes layers in place of generated kernels. Those that come with Solder are in `extensions`."""
