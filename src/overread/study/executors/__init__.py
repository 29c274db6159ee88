"""What works on the images: this process, local processes, or a Dask cluster."""
