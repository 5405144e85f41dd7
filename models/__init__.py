"""What Kontor learns: the corpus, features, training, evaluation and registry of the categorisers.

Here belongs everything that turns labelled bookings into a model artefact and says how good it is.
Here does not belong the application of a model to a user's bookings for an answer (that is `analytics`) or the schedule on
which training runs (that is `pipelines`). May import `analytics`.
"""

import analytics  # noqa: F401  before Polars
