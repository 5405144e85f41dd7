"""The gate of a calibration: when its probabilities may be shown to anybody."""

from models.credit_risk.calibration import Calibration

MIN_OUTCOMES, MIN_DEFAULTS = 300, 50
MIN_AUC, MIN_AUC_LOW = 0.65, 0.55
MAX_CALIBRATION_ERROR = 0.05
MAX_WRONG_SIGNALS = 2
"""So many signals may clearly count the other way than the scorecard says; they are left out."""
MAX_AUC_LOSS = 0.02
"""By so much the fitted weights may rank worse than the bare score."""
WRONG_WAY = "counts the wrong way"


def objections(calibration: Calibration) -> list[str]:
    """Why a calibration should not be used; empty if nothing speaks against it."""
    figures, others = calibration.figures, calibration.outcomes - calibration.defaults
    auc, error = figures["auc"], figures["calibration_error"].value
    wrong = [signal for signal, reason in calibration.left_out.items() if reason == WRONG_WAY]
    rules = [
        (calibration.outcomes >= MIN_OUTCOMES, f"{calibration.outcomes} outcomes, at least {MIN_OUTCOMES} are needed"),
        (calibration.defaults >= MIN_DEFAULTS, f"{calibration.defaults} defaults, at least {MIN_DEFAULTS} are needed"),
        (others >= MIN_DEFAULTS, f"{others} outcomes without a default, at least {MIN_DEFAULTS} are needed"),
        (bool(calibration.weights), "no signal tells defaults from other outcomes"),
        (auc.value >= MIN_AUC, f"the AUC is {auc.value:.3f}, at least {MIN_AUC} is needed"),
        (auc.low >= MIN_AUC_LOW, f"the AUC may be as low as {auc.low:.3f}, at least {MIN_AUC_LOW} is needed"),
        (
            auc.value >= figures["score_auc"].value - MAX_AUC_LOSS,
            f"the AUC is {auc.value:.3f}, that of the bare score {figures['score_auc'].value:.3f}",
        ),
        (error <= MAX_CALIBRATION_ERROR, f"the calibration error is {error:.3f}, at most {MAX_CALIBRATION_ERROR} is allowed"),
        (len(wrong) <= MAX_WRONG_SIGNALS, f"{len(wrong)} signals count the wrong way: {', '.join(wrong)}"),
    ]
    return [message for holds, message in rules if not holds]
