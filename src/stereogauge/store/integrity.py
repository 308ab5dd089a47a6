"""Whether the scores of a store are those that were written."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.errors import StoreError
from stereogauge.store import names, schema
from stereogauge.store.blocks import cell_of_row


def read_damage(connection: Connection) -> list[str]:
    """One sentence per row of scores that is not as it was written."""
    table = schema.scores
    sets = names.known_column_sets(connection)
    found = []
    for number in connection.execute(sql.select(table.c.id).order_by(table.c.id)).scalars().all():
        row = connection.execute(sql.select(table).where(table.c.id == number)).mappings().one()
        try:
            cell_of_row(row, sets[row["column_set_id"]], **names.of_row(connection, number))
        except StoreError as problem:
            found.append(str(problem))
        except (KeyError, ValueError, TypeError, sql.exc.NoResultFound) as problem:
            found.append(f"Row {number} of the scores belongs to nothing that the store knows ({problem}).")
    return found
