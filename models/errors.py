"""The facts that can stand in the way of training, judging and choosing models.

ModelError
├── ModelUnreadable      a file is no model of ours, or was altered
├── NothingToLearn       the lines do not suffice to train or to judge
├── ModelUnknown         no model of this version lies in the folder
└── PromotionRefused     a candidate misses a gate or is worse than what is in use; carries the reasons
"""


class ModelError(Exception):
    """A fact about models that keeps an operation from being carried out."""


class ModelUnreadable(ModelError):
    pass


class NothingToLearn(ModelError):
    pass


class ModelUnknown(ModelError):
    pass


class PromotionRefused(ModelError):
    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
