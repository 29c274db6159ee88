"""The reading room: many readers mark the same images in a browser, blind to each other, and again with a detector."""
