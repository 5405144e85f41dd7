"""The pages that every visitor may read: the start page, and what each code of an error means. They need no script."""
