"""Aliases of parties that a tenant has learned from confirmed links, and the decisions to learn from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from docmill.matching.aliases import PartyAlias, lookup_keys
from docmill.matching.match_record import PartyIdentity
from docmill.service.store.database import Conn, new_id, storable_values
from docmill.service.store.match_decisions import Pair

_PARTY = TypeAdapter(PartyIdentity)
_MOST = 200
"""Aliases that are looked at for one record, the newest."""


@dataclass(frozen=True, slots=True)
class AliasRow:
    """An alias as it is shown. decisions: the number of confirmed links that say so."""

    first_name: str
    second_name: str
    decisions: int


async def tenants_to_learn(conn: Conn) -> list[UUID]:
    """The tenants with decisions that nothing has been learned from. It may be asked across tenants."""
    cur = await conn.execute("SELECT DISTINCT tenant_id FROM match_learning_job LIMIT 100")
    return [tenant_id for (tenant_id,) in await cur.fetchall()]


async def take_decisions(conn: Conn, *, tenant_id: UUID, limit: int) -> list[Pair]:
    """Take up to `limit` pairs to learn from; if this transaction fails, they are there again."""
    async with conn.cursor(row_factory=class_row(Pair)) as cur:
        await cur.execute(
            """
            DELETE FROM match_learning_job
             WHERE (tenant_id, first_id, second_id, relation) IN (
                       SELECT tenant_id, first_id, second_id, relation
                         FROM match_learning_job
                        WHERE tenant_id = %(tenant_id)s
                        ORDER BY first_id, second_id, relation
                        LIMIT %(limit)s
                          FOR UPDATE SKIP LOCKED
                   )
            RETURNING first_id, second_id, relation
            """,
            {"tenant_id": tenant_id, "limit": limit},
        )
        return await cur.fetchall()


async def replace_of_decision(
    conn: Conn, pair: Pair, aliases: Sequence[PartyAlias], *, tenant_id: UUID
) -> list[PartyIdentity]:
    """Store what a decision says instead of what it said before; the parties for which that is a change."""
    cur = await conn.execute(
        """
        DELETE FROM party_alias
         WHERE tenant_id = %(tenant_id)s AND first_id = %(first_id)s AND second_id = %(second_id)s
           AND relation = %(relation)s
        RETURNING first_party, second_party
        """,
        pair.values(tenant_id),
    )
    before = {
        PartyAlias(_PARTY.validate_python(first), _PARTY.validate_python(second))
        for first, second in await cur.fetchall()
    }
    for alias in aliases:
        id_ = new_id()
        await conn.execute(
            """
            INSERT INTO party_alias (id, tenant_id, first_id, second_id, relation, first_party, second_party)
            VALUES (%(id)s, %(tenant_id)s, %(first_id)s, %(second_id)s, %(relation)s, %(first)s, %(second)s)
            """,
            {**pair.values(tenant_id), "id": id_, "first": _json(alias.first), "second": _json(alias.second)},
        )
        await conn.execute(
            """
            INSERT INTO party_alias_key (tenant_id, key, alias_id)
            SELECT %(tenant_id)s, key, %(id)s FROM unnest(%(keys)s::text[]) AS made (key)
            """,
            {
                "tenant_id": tenant_id,
                "id": id_,
                "keys": sorted({*lookup_keys(alias.first), *lookup_keys(alias.second)}),
            },
        )
    changed = before.symmetric_difference(aliases)
    return list(dict.fromkeys(party for alias in changed for party in (alias.first, alias.second)))


async def of_parties(conn: Conn, parties: Collection[PartyIdentity], *, tenant_id: UUID) -> list[PartyAlias]:
    """The standing aliases of parties, and those of their other identities, from the newest decision."""
    keys = {key for party in parties for key in lookup_keys(party)}
    found = await _under(conn, keys, tenant_id=tenant_id)
    others = {key for alias in found for party in (alias.first, alias.second) for key in lookup_keys(party)}
    return await _under(conn, keys | others, tenant_id=tenant_id) if others - keys else found


async def _under(conn: Conn, keys: Collection[str], *, tenant_id: UUID) -> list[PartyAlias]:
    cur = await conn.execute(
        """
        SELECT DISTINCT party_alias.id, first_party, second_party
          FROM party_alias_key
          JOIN party_alias ON party_alias.id = alias_id
          JOIN match_decision USING (first_id, second_id, relation)
         WHERE party_alias_key.tenant_id = %(tenant_id)s AND key = ANY(%(keys)s)
           AND party_alias.tenant_id = %(tenant_id)s AND match_decision.tenant_id = %(tenant_id)s
           AND decision = 'confirmed'
         ORDER BY party_alias.id DESC
         LIMIT %(most)s
        """,
        {"tenant_id": tenant_id, "keys": sorted(keys), "most": _MOST},
    )
    return [
        PartyAlias(_PARTY.validate_python(first), _PARTY.validate_python(second))
        for _, first, second in await cur.fetchall()
    ]


async def documents_of_parties(
    conn: Conn, parties: Collection[PartyIdentity], *, tenant_id: UUID, limit: int
) -> list[UUID]:
    """Up to `limit` documents with one of these names, the newest."""
    cur = await conn.execute(
        """
        SELECT DISTINCT document_id
          FROM match_record
         WHERE tenant_id = %(tenant_id)s AND NOT is_gone
           AND (content #>> '{seller,key}' = ANY(%(keys)s) OR content #>> '{buyer,key}' = ANY(%(keys)s))
         ORDER BY document_id DESC
         LIMIT %(limit)s
        """,
        {
            "tenant_id": tenant_id,
            "keys": sorted({party.key for party in parties if party.key}),
            "limit": limit,
        },
    )
    return [document_id for (document_id,) in await cur.fetchall()]


async def shown(conn: Conn, *, tenant_id: UUID, limit: int) -> list[AliasRow]:
    """The standing aliases for people, those with the most decisions first."""
    async with conn.cursor(row_factory=class_row(AliasRow)) as cur:
        await cur.execute(
            """
            SELECT coalesce(nullif(first_party ->> 'name', ''), 'account ' || (first_party ->> 'iban'))
                       AS first_name,
                   coalesce(nullif(second_party ->> 'name', ''), 'account ' || (second_party ->> 'iban'))
                       AS second_name,
                   count(*) AS decisions
              FROM party_alias
              JOIN match_decision USING (tenant_id, first_id, second_id, relation)
             WHERE tenant_id = %(tenant_id)s AND decision = 'confirmed'
             GROUP BY 1, 2
             ORDER BY decisions DESC, first_name, second_name
             LIMIT %(limit)s
            """,
            {"tenant_id": tenant_id, "limit": limit},
        )
        return await cur.fetchall()


def _json(party: PartyIdentity) -> Jsonb:
    return Jsonb(storable_values(_PARTY.dump_python(party)))
