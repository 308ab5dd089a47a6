"""Declarations of the native kernels (`native/*.cpp`), and the threads that share their work."""
