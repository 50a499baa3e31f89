"""The shop: its tables, policy, seed data and tasks."""
