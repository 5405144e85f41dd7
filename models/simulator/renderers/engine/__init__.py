"""From layouts to texts: templates are filled with the facts of a booking, spoilt and wrapped into lines."""
