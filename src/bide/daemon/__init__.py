"""The daemon: one per home. Joins the runtime and the doors, and holds nothing durable in memory."""
