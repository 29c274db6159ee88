"""Scenarios: more images or more readings, soft or hard labels, for a budget of readings.

The question with which the paper ends: "to compare the introduced models in different scenarios with the growing number
of images and number of annotators, when the number of images per annotators is very small".
"""
