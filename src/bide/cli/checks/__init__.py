"""What `bide doctor` looks at."""
