/** The row of a new organization. */
import { like, or, eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { organizations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Clock } from '../dependencies.ts'

type Row = typeof organizations.$inferSelect

/** Acme, acme-2, acme-3: two unrelated companies may share a name. */
export async function insertOrganization(
  tx: Transaction,
  clock: Clock,
  { name, foundedBy }: { name: string; foundedBy: string | null },
): Promise<Row> {
  const base = slugOf(name)
  const now = clock()
  for (;;) {
    const [row] = await tx
      .insert(organizations)
      .values({
        id: makeId('org', now.getTime()),
        name,
        slug: await freeSlug(tx, base),
        foundedBy,
        createdAt: now,
      })
      .onConflictDoNothing({ target: organizations.slug })
      .returning()
    // Somebody took the slug between the look and the insert; there is always a next one.
    if (row) return row
  }
}

/** Compatibility decomposition splits accents off, so that "Café Zürich" becomes cafe-zurich. */
function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 48)
    .replace(/-+$/, '')
  // A name in another script leaves nothing to spell; the number behind it makes it unique.
  return slug || 'org'
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
