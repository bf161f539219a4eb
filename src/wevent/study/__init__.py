"""Compares mechanisms on streams: data sets, baselines, metrics, protocols, experiments and reports.

It stands on `wevent`, `wevent.errors` and `wevent.extend` alone, and no publisher or store imports it.
"""
