"""What takes too long for a build of the site: a folder each, with its table, code and results."""
