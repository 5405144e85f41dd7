"""What every request and answer goes through: middleware, routes, authorisation, strict JSON, errors, caches, metrics."""
