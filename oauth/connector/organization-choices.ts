/** The organizations in which a user can connect a client, and the data sources they can query there. */
import { and, asc, eq } from '../../db/drizzle.ts'
import {
  memberships,
  organizationClientBlocks,
  organizationIdentityProviders,
  organizations,
} from '../../db/schema.ts'
import type { ClientKind } from '../../src/contracts/grants.ts'
import type { Scope } from '../../src/contracts/scopes.ts'
import { countApps } from '../../src/cores/apps/index.ts'
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
  /** How many apps it could read about; null: none of what it asks for is about apps. */
  apps: number | null
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
    .select({
      org: organizations,
      role: memberships.role,
      blocked: organizationClientBlocks.clientId,
      required: organizationIdentityProviders.name,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, organizations.id),
        eq(organizationClientBlocks.clientId, clientId),
      ),
    )
    .leftJoin(
      organizationIdentityProviders,
      and(
        eq(organizationIdentityProviders.orgId, organizations.id),
        eq(organizationIdentityProviders.isRequired, true),
      ),
    )
    .where(eq(memberships.userId, userId))
    .orderBy(asc(organizations.name))
  return Promise.all(
    rows.map(async ({ org, role, blocked, required }) => {
      const reason = closedBecause(org, kind, { isBlocked: blocked !== null, required })
      const isOpen = reason === null
      const sources =
        isOpen && scopes.includes('data:read') ? await listGrantableSources(db, org.id, role) : []
      const apps = isOpen && scopes.some(isAboutApps) ? await countApps(db, org.id) : null
      return { id: org.id, name: org.name, isOpen, reason, sources, apps }
    }),
  )
}

const isAboutApps = (scope: Scope): boolean =>
  scope.startsWith('maintenance:') || scope === 'proposals:decide'

function closedBecause(
  org: typeof organizations.$inferSelect,
  kind: ClientKind,
  { isBlocked, required }: { isBlocked: boolean; required: string | null },
): string | null {
  if (isBlocked) return 'Client is blocked'
  if (!org.agentsEnabled) return 'Agents are switched off'
  if (required !== null)
    return `Agents connect through ${required} only. Set yours up with your company account.`
  if (kind === 'dynamic' && org.registeredClients === 'refused') return 'Registered clients are refused'
  return null
}
