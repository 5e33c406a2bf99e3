"""The device side of MLPerf Tiny."""
