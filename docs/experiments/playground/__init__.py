"""The classifiers that run in a reader's browser: trained, rounded to 8 bits, and measured."""
