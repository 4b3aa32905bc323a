"""Brings a database to the schema of this version; the file's `user_version` counts the migrations it has."""

import sqlite3
from pathlib import Path

from bide.model.errors import DatabaseNewer
from bide.store.faults import DatabaseCorrupt, is_of_the_schema

MIGRATIONS = sorted(Path(__file__).with_name("migrations").glob("*.sql"))


def migrate(connection: sqlite3.Connection, path: Path) -> bool:
    """Apply what is missing, all of it or nothing; whether there was no schema at all before.

    Raises:
        DatabaseNewer: a newer bide wrote the file. Nothing in it was changed.
        DatabaseCorrupt: it has not the schema that it says it has. Nothing in it was changed.

    """
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > len(MIGRATIONS):
        raise DatabaseNewer(path=str(path), found=str(found), known=str(len(MIGRATIONS)))
    missing = [migration.read_text(encoding="utf-8") for migration in MIGRATIONS[found:]]
    if missing:
        try:
            # One transaction: every one of them waits for the disk.
            changes = "\n".join(missing)
            connection.executescript(f"BEGIN IMMEDIATE;\n{changes}\nPRAGMA user_version = {len(MIGRATIONS)};\nCOMMIT;")
        except sqlite3.Error as error:
            connection.rollback()
            if is_of_the_schema(error):
                raise DatabaseCorrupt(f"{path}: {error}, in a database of schema {found}") from error
            raise
    return found == 0
