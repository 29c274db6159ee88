"""What knows the penalty: one file a penalty, and the registry of their names."""
