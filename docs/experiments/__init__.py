"""What takes too long for a build of the site: one folder each, with table, code and results."""
