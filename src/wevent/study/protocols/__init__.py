"""Holds the two ways to run a stream: `honest`, with every window enforced, and `printed`, which is not private."""
