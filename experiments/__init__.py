"""Tasks x trials under one configuration: plan, schedule, store, resume, replay, report."""
