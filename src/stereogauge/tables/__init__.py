"""Tables of typed cells and their writers: terminal, CSV, LaTeX, Markdown, HTML and JSON."""
