"""A DICOM node for a department: it receives images and sends reports and presentation states by C-STORE.

An image goes through three stages, and the spool records each on the device before the next begins: `Receiver` (stored,
then acknowledged), `Worker` (the detector's documents are written), `Sender` (acknowledged by the destination). `Node`
runs them together.
"""
