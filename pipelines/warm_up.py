"""`python -m pipelines.warm_up`: compiles the loops of tagging, analyses and writing, once after an installation or update.

Processes that start later load the compiled code. Without it, only the first response is slower, by half a minute.
"""

from pipelines.results import live

if __name__ == "__main__":
    live.prepare()
