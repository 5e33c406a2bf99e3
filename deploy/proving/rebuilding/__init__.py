"""Builds archive, firmware and wheel again, in another folder and environment."""
