"""`python -m pipelines.compiling`: compiles what tagging and analyses run in loops, once after an installation or an update.

Processes that start later find it done. Nothing breaks without it: the first answer then waits half a minute.
"""

from pipelines import analyses

if __name__ == "__main__":
    analyses.prepare()
