"""The report of a month as a page to print. The browser makes a PDF of it: no program here has to."""
