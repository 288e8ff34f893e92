/** The organizations in which a user can connect a client, and the data sources they can query there. */
import { and, asc, eq } from '../../db/drizzle.ts'
import { memberships, organizationClientBlocks, organizations } from '../../db/schema.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import type { Scope } from '../../src/contracts/scopes.ts'
import { listGrantableSources } from '../../src/cores/search/index.ts'
import type { SourceToChoose } from './chosen-sources.ts'
import type { ConnectorDeps } from './dependencies.ts'

export type OrganizationChoice = {
  id: string
  name: string
  isOpen: boolean
  /** Why it is not open. */
  reason: string | null
  /** What the user can query there; empty without `data:read`. */
  sources: readonly SourceToChoose[]
}

export async function organizationChoices(
  { db }: ConnectorDeps,
  userId: string,
  {
    clientId,
    kind,
    scopes,
  }: { readonly clientId: string; readonly kind: ClientKind; readonly scopes: readonly Scope[] },
): Promise<OrganizationChoice[]> {
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
      const reason = closedBecause(org, kind, blocked !== null)
      const isOpen = reason === null
      const sources =
        isOpen && scopes.includes('data:read') ? await listGrantableSources(db, org.id, role) : []
      return { id: org.id, name: org.name, isOpen, reason, sources }
    }),
  )
}

function closedBecause(
  org: typeof organizations.$inferSelect,
  kind: ClientKind,
  isBlocked: boolean,
): string | null {
  if (isBlocked) return 'Client is blocked'
  if (!org.agentsEnabled) return 'Agents are switched off'
  if (kind === 'dynamic' && org.registeredClients === 'refused') return 'Registered clients are refused'
  return null
}
