"""The engine: independent tasks in this process, on all cores of this machine, or on a Dask cluster."""
