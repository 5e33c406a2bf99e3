"""Says which bytes of the C come from what, and what evidence rests on."""
