/**
 * Rights that are taken and can be given again: a role, an exposure, a switch. Every change of one is counted in a row, so
 * that what a journal holds is done again only where the database has lost it, and not after somebody gave it again.
 */
import type { Transaction } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import type { NarrowedKind } from '../contracts/endings.ts'
import { recordEnding, type EndedRow } from './record-ending.ts'

type Right = Pick<EndedRow, 'id' | 'orgId'>
type Narrowed = Right & Pick<EndedRow, 'to'>

export const RIGHT_FACT = 'right:'
const nameOf = (kind: NarrowedKind, { id, orgId }: Right): string =>
  `${RIGHT_FACT}${kind}:${orgId ?? ''}:${id}`

/** `to`: what is left of it. Several of one kind are one statement. */
export async function recordNarrowing(
  tx: Transaction,
  kind: NarrowedKind,
  narrowed: Narrowed | readonly Narrowed[],
): Promise<void> {
  const rows = [narrowed].flat() as readonly Narrowed[]
  const versions = await nextVersions(tx, kind, rows)
  recordEnding(
    tx,
    kind,
    rows.map(({ id, orgId, to }) => ({
      id,
      orgId,
      to: { ...to, version: String(versions.get(nameOf(kind, { id, orgId }))) },
    })),
  )
}

/** Given again: what was taken of it before stays as it was decided now. */
export async function recordWidening(
  tx: Transaction,
  kind: NarrowedKind,
  rights: Right | readonly Right[],
): Promise<void> {
  await nextVersions(tx, kind, [rights].flat())
}

async function nextVersions(
  tx: Transaction,
  kind: NarrowedKind,
  rights: readonly Right[],
): Promise<ReadonlyMap<string, number>> {
  // In one order, so that two who change the same do not wait for each other.
  const names = [...new Set(rights.map((right) => nameOf(kind, right)))].toSorted()
  if (names.length === 0) return new Map()
  const rows = await tx.execute<{ name: string; version: number }>(sql`
    insert into installation_facts as known (name, value)
    select name, ${valueOf(sql`1`)} from json_array_elements_text(${JSON.stringify(names)}::text::json) as name
    on conflict (name) do update set value = ${valueOf(sql`(known.value ->> 'version')::int + 1`)}
    returning name, (value ->> 'version')::int as version`)
  return new Map(rows.map(({ name, version }) => [name, version]))
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
