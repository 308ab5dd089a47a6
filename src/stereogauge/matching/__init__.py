"""Matchers behind one interface: ours, OpenCV's, any program, any function."""
