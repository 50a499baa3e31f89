"""Stand-ins the tests and benchmarks run against."""
