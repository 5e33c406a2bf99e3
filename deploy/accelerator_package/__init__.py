"""Templates of accelerator packages: @NAME@ is the new accelerator's name, @LIKE@ its example's."""
