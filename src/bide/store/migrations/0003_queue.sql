-- What was set for groups of jobs while a runtime ran, over what config.toml says. The empty name stands for all jobs.

CREATE TABLE groups (
    name    TEXT PRIMARY KEY NOT NULL,
    limited INTEGER NOT NULL CHECK (limited IN (0, 1)),
    most    INTEGER CHECK (most >= 0),
    paused  INTEGER NOT NULL CHECK (paused IN (0, 1)),
    CHECK (limited = 1 OR most IS NULL)
) STRICT;
