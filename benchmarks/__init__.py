"""Benchmarks beside the peers; ``benchmarks/README.md`` says how they are run and added to."""
