"""The site's answers about scenes: pictures, pixels, confidence."""
