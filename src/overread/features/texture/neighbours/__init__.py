"""What looks at the 8 neighbours of a pixel: dependences and tone differences."""
