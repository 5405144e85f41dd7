"""English for people who read no German: the names and descriptions of tags, and the sentences of tags and analyses.

Analyses write German alone, once, and their German is the key of the English: phrases are looked up in `tables/phrases.csv`,
sentences are recognised by the patterns of their grammar (`sentences.py`). So German costs nothing more, and nothing is stored
twice. Tests render every sentence there is; one that has no English stays German.
"""
