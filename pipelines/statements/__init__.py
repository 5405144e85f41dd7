"""Files that banks give their customers: account statements as CAMT, MT940 or CSV, read into the frame of bookings.

Here belongs what a file says. What becomes of it, the connectors and the flows decide; German texts about a fault are the API's.
"""
