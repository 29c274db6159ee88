"""What families look at around the candidates of a radiograph, each thing measured once."""
