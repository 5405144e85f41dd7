"""Results that follow from bookings: exported, tagged and analysed by bucket, checked, and published for the API."""
