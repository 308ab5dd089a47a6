"""Submissions: upload, queue, evaluation, publication."""
