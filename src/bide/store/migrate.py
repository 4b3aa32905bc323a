"""Brings a database to the schema of this version; the file's `user_version` counts the migrations it has."""

import sqlite3
from pathlib import Path

from bide.model.errors import DatabaseNewer
from bide.store.faults import DatabaseCorrupt

MIGRATIONS = sorted(Path(__file__).with_name("migrations").glob("*.sql"))


def migrate(connection: sqlite3.Connection, path: Path, sealed_schema: int | None = None) -> bool:
    """Apply what is missing, all of it or nothing; return whether there was no schema at all before.

    Raises:
        DatabaseNewer: a newer bide wrote the file. Nothing in it was changed.
        DatabaseCorrupt: it has not the schema that it says it has. Nothing in it was changed.

    """
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > len(MIGRATIONS):
        if sealed_schema is not None and sealed_schema <= len(MIGRATIONS):
            raise DatabaseCorrupt(f"{path}: its header says schema {found}, and it was sealed with {sealed_schema}")
        raise DatabaseNewer(path=str(path), found=str(found), known=str(len(MIGRATIONS)))
    missing = [migration.read_text(encoding="utf-8") for migration in MIGRATIONS[found:]]
    if missing:
        try:
            # One transaction: every one of them waits for the disk.
            changes = "\n".join(missing)
            connection.executescript(f"BEGIN IMMEDIATE;\n{changes}\nPRAGMA user_version = {len(MIGRATIONS)};\nCOMMIT;")
        except sqlite3.Error as error:
            connection.rollback()
            if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
                raise DatabaseCorrupt(f"{path}: {error}, in a database of schema {found}") from error
            raise
    return found == 0
