"""From estimates and scenes to scores."""
