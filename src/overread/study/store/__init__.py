"""The files of a run: folder, manifest, shards."""
