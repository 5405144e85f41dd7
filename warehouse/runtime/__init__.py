"""What a process needs of the machine that it runs on: files, disks, logs, traces, retries, priorities, fair slots.

Here belongs what knows nothing of banks, customers or tables. What asks the database or the lake belongs to the rooms above.
"""
