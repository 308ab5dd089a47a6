"""Results of algorithms: found in folders and zips, described by a manifest."""
