"""Packages with an accelerator of one's own; templates have @NAME@ for its name, @LIKE@ for its example's."""
