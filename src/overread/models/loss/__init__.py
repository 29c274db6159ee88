"""What knows the loss: pooling of a bag, weights of the bags, value, gradient and curvature."""
