"""Slots: the four times of a day at which accesses are refreshed."""

from datetime import date, datetime, timedelta, tzinfo

SLOT_HOURS = (0, 6, 12, 18)
SLOT_GAP = timedelta(hours=6)
"""The time between two slots."""
SLOT_FORMAT = "%Y-%m-%dT%H"
"""The name of a slot in files and partitions."""
CRON = f"0 {','.join(map(str, SLOT_HOURS))} * * *"


def slot_of(now: datetime, zone: tzinfo) -> datetime:
    """The latest slot before a moment, by the clock of a zone."""
    local = now.astimezone(zone)
    hour = max(hour for hour in SLOT_HOURS if hour <= local.hour)
    return local.replace(hour=hour, minute=0, second=0, microsecond=0)


def day_of(slot: str) -> date:
    """The day of a slot, from its name."""
    return datetime.strptime(slot, SLOT_FORMAT).date()  # noqa: DTZ007 (a slot has the zone of the settings)
