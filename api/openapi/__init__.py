"""The OpenAPI document and the models in it."""
