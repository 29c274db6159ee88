"""What solves: working-set proximal Newton, its model and curvature, the certified gap, and the path of penalties."""
