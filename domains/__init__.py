"""The nouns: task, trial record, errors, row changes, and one folder per world."""
