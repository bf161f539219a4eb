"""The yardstick: data sets, baselines, metrics, protocols and experiments; nothing here serves the public."""
