"""The report on a model: whether it fits boards, why, where its bytes and cycles go, and what would help."""
