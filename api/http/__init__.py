"""What every request and response passes: middleware, routes, authorisation, strict JSON, errors, caches, metrics."""
