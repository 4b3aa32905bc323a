"""LLM command lines as kinds of job: a file for each, and what they share."""
