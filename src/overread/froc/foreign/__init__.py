"""Detections and truth written by other tools."""
