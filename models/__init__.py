"""The categoriser and the simulated households it is trained on: features, training, evaluation and registry.

Here is everything that turns labelled bookings into a model file and measures its quality. Applying a model to a user's bookings
is up to `analytics`, the schedule of training to `pipelines`. May import `analytics`.
"""

import analytics  # noqa: F401  before Polars
