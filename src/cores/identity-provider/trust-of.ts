import type { Handle } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { organizations } from '../../../db/schema.ts'
import type { ProviderRow } from './provider-rows.ts'
import type { Trust } from './verify-assertion.ts'

/** A row as the checks of an assertion take it. */
export async function trustOf(db: Handle, provider: ProviderRow): Promise<Trust> {
  const [organization] = await db
    .select({ slug: organizations.slug })
    .from(organizations)
    .where(eq(organizations.id, provider.orgId))
  return { ...provider, orgSlug: organization?.slug ?? '' }
}
