"""SGLang 0.4 to 0.5: launch flags, readiness, the lines of its log, and how it dies."""
