"""Pictures of any kind: planes and region, blobs, generic features."""
