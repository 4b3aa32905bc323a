"""What is asked of an LLM's command line and what it answers: values and rules, no processes."""
