"""Compares databases row by row. Arguments: files of SQLite."""

import sqlite3
import sys


def content(path):
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
    return list(database.iterdump())


first, *others = [content(path) for path in sys.argv[1:]]
assert sum("INSERT INTO \"users\"" in line for line in first) == 3, "three users were created"
for path, other in zip(sys.argv[2:], others):
    assert other == first, f"{path} differs"
