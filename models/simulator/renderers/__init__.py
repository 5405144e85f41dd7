"""Acts in the words of the banks: fourteen ways of writing a booking, spoilt like real ones, and the truth of what is readable.

Here belong layouts, noise and the truth about the fields of a text; `render.render` is the way in. Here does not belong what
happened to whom (that is the simulation around it) or any reading of texts: nothing here imports a parser, and no parser
imports this.
"""
