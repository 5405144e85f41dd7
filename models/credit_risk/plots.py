"""The plot of a calibration: what was predicted beside what was observed, and the weights of the signals."""

from matplotlib.figure import Figure as Picture

from models.credit_risk.calibration import Calibration
from models.evaluation.reports import INK, SOFT, png


def plot(calibration: Calibration) -> bytes:
    """The plot as PNG."""
    picture = Picture(figsize=(9, 4), layout="constrained")
    left, right = picture.subplots(1, 2)
    predicted, observed = ([getattr(each, name) for each in calibration.bins] for name in ("predicted", "observed"))
    top = max(*predicted, *observed, 0.01) * 1.05
    left.plot([0, top], [0, top], color=SOFT, linewidth=2)
    left.plot(predicted, observed, "o-", color=INK, markersize=4)
    auc = calibration.figures["auc"]
    left.set(xlabel="predicted probability of default", ylabel="share of defaults", xlim=(0, top), ylim=(0, top))
    left.set_title(f"{calibration.outcomes} outcomes, {calibration.defaults} defaults, AUC {auc.value:.3f}", fontsize=9)
    by_weight = sorted(calibration.weights.items(), key=lambda item: -item[1])
    right.barh([name for name, _ in by_weight], [-weight for _, weight in by_weight], color=INK)
    right.tick_params(axis="y", labelsize=7)
    right.set(xlabel="fall of the log odds from no points to the best")
    return png(picture)
