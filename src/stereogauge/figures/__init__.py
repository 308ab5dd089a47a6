"""Drawing: everything here takes plain values and returns pictures; nothing here computes a score."""
