"""What Solder needs, measured, and what others need."""
