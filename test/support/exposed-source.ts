/** A data source that may be asked, without a database behind it: enough wherever nobody asks it anything. */
import { dataSources } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { unique } from './make.ts'
import type { TestSystem } from './system.ts'

export type ExposedSource = { readonly id: string; readonly source_id: string; readonly name: string }

/** `name` is what people read. */
export async function makeExposedSource(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  org: { readonly id: string },
  given: Partial<typeof dataSources.$inferInsert> = {},
): Promise<ExposedSource> {
  const now = clock.now()
  const name = unique('source').replaceAll('-', '_')
  const row = {
    orgId: org.id,
    id: makeId('ds', now.getTime()),
    name,
    title: `About ${name}`,
    kind: 'embedded' as const,
    sealed: 'x',
    enabled: true,
    exposed: true,
    createdAt: now,
    ...given,
  }
  await db.insert(dataSources).values(row)
  return { id: row.id, source_id: `db_${row.name}`, name: row.title }
}
