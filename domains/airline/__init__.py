"""The airline: its tables, policy, seed data and tasks."""
