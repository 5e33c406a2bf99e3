"""Makes archive, firmware and wheel a second time, in another place and another environment."""
