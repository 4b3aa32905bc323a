"""LLM command lines as jobs: asking, reading, recording."""
