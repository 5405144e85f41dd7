"""Compiled loops over the bytes and numbers of columns, and the only place that knows how they are compiled.

Here belongs what one pass over memory does many times faster than dozens of expressions. No rule of the field stands here.
"""
