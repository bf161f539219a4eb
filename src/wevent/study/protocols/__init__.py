"""How a stream is run: `honest`, with every window enforced, or `printed`, which is not private."""
