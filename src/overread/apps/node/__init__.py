"""A DICOM node for a department: images come in by C-STORE, reports and presentation states go out by C-STORE.

An image goes through three stages, and the spool remembers each on the device before the next begins:
`receiver` (stored, then acknowledged), `worker` (the detector's documents are written), `sender` (acknowledged by the
destination). `service` runs them together.
"""
