"""A DICOM node for a department: images come in by C-STORE, reports and presentation states go out by C-STORE.

An image goes through three stages, and the spool remembers each on the device before the next begins:
`Receiver` (stored, then acknowledged), `Worker` (the detector's documents are written), `Sender` (acknowledged by the
destination). `Node` runs them together.
"""
