"""Reports that people hand on: one HTML file, LaTeX tables, CSV, and figures as files."""
