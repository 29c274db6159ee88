"""The stages of a run, each a record with what it reads and writes (`overread.study.stages.stage`)."""
