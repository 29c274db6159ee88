"""A trained detector at work on many images: one after the other, to be taken up again, and what PACS shows of it."""
