"""What each reader drew: ellipses in millimetres, and importers of other tools' formats."""
