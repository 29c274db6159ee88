"""What runs, zones and dependences have in common: emphasis of small and large values and levels."""
