"""What solves: working-set proximal Newton, its curvature, and the path of penalties."""
