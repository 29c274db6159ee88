"""A DICOM node for a department: it receives images and sends reports and presentation states by C-STORE.

An image goes through three stages, and the spool records each on the device before the next begins: `receiver` (stored,
then acknowledged), `worker` (the detector's documents are written), `sender` (acknowledged by the destination).
`service` runs them together.
"""
