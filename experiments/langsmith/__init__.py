"""LangSmith as sink and user interface: datasets, experiments, traces, feedback. The store remains the truth."""
