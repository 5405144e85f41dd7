"""`python -m pipelines.compiling`: compiles what tagging runs in loops, once after an installation or an update.

Processes that start later find it done. Nothing breaks without it: the first booking that is tagged then waits half a minute.
"""

from pipelines import tags

if __name__ == "__main__":
    tags.prepare()
