/** The organizations a person could connect a client in, and the data sources they may ask there. */
import { and, asc, eq } from '../../db/drizzle.ts'
import { memberships, organizationClientBlocks, organizations } from '../../db/schema.ts'
import { sourcesToChoose } from '../../src/cores/search/index.ts'
import type { SourceToChoose } from './chosen-sources.ts'
import type { Asked } from './consent-page.ts'
import type { ConnectorNeeds } from './needs.ts'

export type Place = {
  id: string
  name: string
  open: boolean
  because: string | null
  /** What the person may ask there; empty where the question does not arise. */
  sources: readonly SourceToChoose[]
}

export async function organizationsOf(
  { db }: ConnectorNeeds,
  userId: string,
  { clientId, scopes }: Pick<Asked, 'clientId' | 'scopes'>,
): Promise<Place[]> {
  const rows = await db
    .select({ org: organizations, role: memberships.role, blocked: organizationClientBlocks.clientId })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, organizations.id),
        eq(organizationClientBlocks.clientId, clientId),
      ),
    )
    .where(eq(memberships.userId, userId))
    .orderBy(asc(organizations.name))
  return Promise.all(
    rows.map(async ({ org, role, blocked }) => {
      const because = blocked !== null ? 'blocked here' : org.agentsEnabled ? null : 'agents are switched off'
      const open = because === null
      const sources = open && scopes.includes('data:read') ? await sourcesToChoose(db, org.id, role) : []
      return { id: org.id, name: org.name, open, because, sources }
    }),
  )
}
