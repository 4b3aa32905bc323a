-- A conversation that bide named before it began: the id that the CLI gave it, empty until then and for all others.

ALTER TABLE conversations ADD COLUMN thread TEXT NOT NULL DEFAULT '';
