"""One module per family of datasets: how its folder looks, and how it becomes scenes."""
