"""What follows from bookings: exported, tagged and analysed by bucket, checked, and made ready to be sent."""
