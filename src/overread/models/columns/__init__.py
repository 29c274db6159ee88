"""Where the solver's features are: all in memory, or in a file of which some columns are held."""
