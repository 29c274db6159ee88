"""reader_study."""
