"""The only code that changes a domain: the executor, and one package of tools per domain."""
