/**
 * Rights that are taken and can be given again: a role, an exposure, a switch. Every change of one is counted in a row, so
 * that what a journal holds is done again only where the database has lost it, and not after somebody gave it again.
 */
import type { Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import type { NarrowedKind } from '../contracts/endings.ts'
import { recordEnding, type EndedRow } from './record-ending.ts'

type Right = Pick<EndedRow, 'id' | 'orgId'>

export const RIGHT_FACT = 'right:'
const nameOf = (kind: NarrowedKind, { id, orgId }: Right): string =>
  `${RIGHT_FACT}${kind}:${orgId ?? ''}:${id}`

/** `to`: what is left of it. */
export async function recordNarrowing(
  tx: Transaction,
  kind: NarrowedKind,
  { id, orgId, to }: Right & Pick<EndedRow, 'to'>,
): Promise<void> {
  const version = await nextVersion(tx, kind, { id, orgId })
  recordEnding(tx, kind, [{ id, orgId, to: { ...to, version: String(version) } }])
}

/** Given again: what was taken of it before stays as it was decided now. */
export async function recordWidening(tx: Transaction, kind: NarrowedKind, right: Right): Promise<void> {
  await nextVersion(tx, kind, right)
}

async function nextVersion(tx: Transaction, kind: NarrowedKind, right: Right): Promise<number> {
  const [row] = await tx.execute<{ version: number }>(sql`
    insert into installation_facts as known (name, value) values (${nameOf(kind, right)}, ${valueOf(sql`1`)})
    on conflict (name) do update set value = ${valueOf(sql`(known.value ->> 'version')::int + 1`)}
    returning (value ->> 'version')::int as version`)
  return row!.version
}

/** True, once: the database knows of no change of this right as late as this one. */
export async function isNarrowingLost(
  tx: Transaction,
  kind: NarrowedKind,
  { to, ...right }: EndedRow,
): Promise<boolean> {
  const version = sql`${Number(to!.version)}::int`
  const rows = await tx.execute(sql`
    insert into installation_facts as known (name, value) values (${nameOf(kind, right)}, ${valueOf(version)})
    on conflict (name) do update set value = excluded.value where (known.value ->> 'version')::int < ${version}
    returning name`)
  return rows.length > 0
}

const valueOf = (version: ReturnType<typeof sql>) =>
  sql`jsonb_build_object('version', ${version}, 'at', floor(extract(epoch from now()) * 1000))`
