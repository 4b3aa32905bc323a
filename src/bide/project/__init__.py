"""What a project's bide.toml says."""
