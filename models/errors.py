"""The errors of training, evaluating and choosing models.

ModelError
├── ModelUnreadable      a file is not one of our models, or was altered
├── LabelledLinesInvalid a file of labelled lines has mistakes; names them
├── NothingToLearn       the lines do not suffice for training or evaluation
├── EstimatorInvalid     there is no such estimator, or it does not have these parameters
├── ExportDiffers        the exported model does not predict what scikit-learn predicts
├── ModelUnknown         the folder has no model of this version
└── PromotionRefused     a candidate misses a gate or is worse than the model in use; carries the reasons
"""


class ModelError(Exception):
    """Why an operation on models cannot be carried out."""


class ModelUnreadable(ModelError):
    pass


class LabelledLinesInvalid(ModelError):
    pass


class NothingToLearn(ModelError):
    pass


class EstimatorInvalid(ModelError):
    pass


class ExportDiffers(ModelError):
    pass


class ModelUnknown(ModelError):
    pass


class PromotionRefused(ModelError):
    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
