"""`python -m pipelines.warm_up`: compiles what tagging, analyses and writing run in loops, once after an install or update.

Processes that start later find it done. Nothing breaks without it: the first answer then waits half a minute.
"""

from pipelines.results import live

if __name__ == "__main__":
    live.prepare()
