"""Confidence: measures, their combination, and how well they predict errors."""
