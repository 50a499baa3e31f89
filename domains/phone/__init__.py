"""The phone carrier: the tables of carrier and handsets, its policy, seed data and tasks."""
