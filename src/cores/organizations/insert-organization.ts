/** The row of a new organization. */
import { like, or, eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Clock } from '../needs.ts'
import { slugOf } from './slug.ts'

type Row = typeof organizations.$inferSelect

/** Acme, acme-2, acme-3: two unrelated companies may share a name. */
export async function insertWithFreeSlug(tx: Transaction, clock: Clock, name: string): Promise<Row> {
  const base = slugOf(name)
  const now = clock()
  for (;;) {
    const [row] = await tx
      .insert(organizations)
      .values({ id: makeId('org', now.getTime()), name, slug: await freeSlug(tx, base), createdAt: now })
      .onConflictDoNothing({ target: organizations.slug })
      .returning()
    // Somebody took the slug between the look and the insert; there is always a next one.
    if (row) return row
  }
}

async function freeSlug(tx: Transaction, base: string): Promise<string> {
  const rows = await tx
    .select({ slug: organizations.slug })
    .from(organizations)
    .where(or(eq(organizations.slug, base), like(organizations.slug, `${base}-%`)))
  const taken = new Set(rows.map((row) => row.slug))
  if (!taken.has(base)) return base
  let number = 2
  while (taken.has(`${base}-${number}`)) number++
  return `${base}-${number}`
}
