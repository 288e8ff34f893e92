/** Everything of an organization that can become less: how to make it, take of it, and give it again, and what it gives. */
import { and, eq, type SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import {
  appMembers,
  dataSources,
  integrations,
  machineAgents,
  memberships,
  organizationClientBlocks,
  organizationIdentityProviders,
  organizations,
  platformAccessGrants,
  platformOauthClients,
} from '../../db/schema.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { setDataSourceExposure, setDataSourceState } from '../../src/contracts/data-sources.ts'
import type { NarrowedKind } from '../../src/contracts/endings.ts'
import { blockOauthClient, narrowGrant, setOauthClientActive } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { updateIdentityProvider } from '../../src/contracts/identity-provider.ts'
import { updateIntegration } from '../../src/contracts/integrations.ts'
import { updateMachineAgent } from '../../src/contracts/machine-agents.ts'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { newAssistant, preRegistered, type ListeningSystem } from './assistant.ts'
import { insertSource } from './data-sources.ts'
import { makeMachineAgent } from './machine-agents.ts'
import { makeMember, unique, type Org } from './make.ts'
import { OPERATOR_TOKEN } from './system.ts'

type Row = Record<string, unknown>

type Narrowing = {
  readonly narrow: () => Promise<unknown>
  /** What it gives now. */
  readonly read: () => Promise<Row | undefined>
  /** As a database that has lost the change has it. */
  readonly lose: () => Promise<unknown>
  /** By whoever may; null: it is never given again. */
  readonly widen: (() => Promise<unknown>) | null
}

type Kind = NarrowedKind | 'grant_narrowed' | 'identity_provider'

export const NARROWINGS: { readonly [K in Kind]: (system: ListeningSystem, org: Org) => Promise<Narrowing> } =
  {
    async role(system, org) {
      const { userId } = await makeMember(system, org, 'admin')
      const of = and(eq(memberships.orgId, org.id), eq(memberships.userId, userId))
      const set = (role: 'admin' | 'viewer') => () =>
        org.owner.call(changeMemberRole, { org_id: org.id, user_id: userId, role })
      return {
        narrow: set('viewer'),
        widen: set('admin'),
        ...row(system, memberships, of, { role: 'admin' }),
      }
    },
    async organization(system, org) {
      const set = (agents_enabled: boolean) => () =>
        org.owner.call(updateOrganization, { org_id: org.id, agents_enabled })
      return {
        narrow: set(false),
        widen: set(true),
        ...row(system, organizations, eq(organizations.id, org.id), { agentsEnabled: true }),
      }
    },
    async client_block(system, org) {
      const client_id = unique('client')
      const of = and(
        eq(organizationClientBlocks.orgId, org.id),
        eq(organizationClientBlocks.clientId, client_id),
      )
      const set = (blocked: boolean) => () => org.owner.call(blockOauthClient, { client_id, blocked })
      return {
        narrow: set(true),
        widen: set(false),
        read: async () => ({
          isBlocked: (await system.db.select().from(organizationClientBlocks).where(of)).length > 0,
        }),
        lose: () => system.db.delete(organizationClientBlocks).where(of),
      }
    },
    async client_activity(system, org) {
      const client = await preRegistered(system)
      await newAssistant(system, client).connect(org.owner)
      const set = (is_active: boolean) => () =>
        system.as({ token: OPERATOR_TOKEN })(setOauthClientActive, { client_id: client.clientId, is_active })
      const of = eq(platformOauthClients.clientId, client.clientId)
      return {
        narrow: set(false),
        widen: set(true),
        ...row(system, platformOauthClients, of, { isActive: true }),
      }
    },
    async data_source(system, org) {
      const { id: source_id } = await insertSource(system, org, { enabled: true, exposed: true })
      const { call } = org.owner
      return {
        narrow: () => call(setDataSourceState, { source_id, enabled: false }),
        async widen() {
          await call(setDataSourceState, { source_id, enabled: true })
          await call(setDataSourceExposure, { source_id, exposed: true })
        },
        ...row(system, dataSources, eq(dataSources.id, source_id), { enabled: true, exposed: true }),
      }
    },
    async app_member(system, org) {
      const [alias, { userId }] = [unique('app'), await makeMember(system, org, 'viewer')]
      await org.owner.call(createApp, { alias, name: 'Shop' })
      const set = (role: 'builder' | 'maintainer') => () =>
        org.owner.call(setAppMember, { alias, user_id: userId, role })
      await set('maintainer')()
      const of = and(eq(appMembers.orgId, org.id), eq(appMembers.userId, userId))
      return {
        narrow: set('builder'),
        widen: set('maintainer'),
        ...row(system, appMembers, of, { role: 'maintainer' }),
      }
    },
    async integration(system, org) {
      const createdAt = system.clock.now()
      const id = makeId('int', createdAt.getTime())
      await system.db.insert(integrations).values({
        orgId: org.id,
        id,
        kind: 'webhook',
        name: 'Receiver',
        state: 'active',
        config: {},
        sealed: 'opens nothing',
        digest: id,
        createdAt,
      })
      const set = (enabled: boolean) => () =>
        org.owner.call(updateIntegration, { integration_id: id, enabled })
      return {
        narrow: set(false),
        widen: set(true),
        ...row(system, integrations, eq(integrations.id, id), { state: 'active' }),
      }
    },
    async machine_agent_expiry(system, org) {
      const { id } = await makeMachineAgent(org.owner)
      const at = (days: number) => new Date(system.clock.now().getTime() + days * 86_400_000)
      const [short, long] = [at(2), at(30)]
      const set = (expiresAt: Date) => () =>
        org.owner.call(updateMachineAgent, { machine_agent_id: id, expires_at: expiresAt.toISOString() })
      await set(long)()
      return {
        narrow: set(short),
        widen: set(long),
        ...row(system, machineAgents, eq(machineAgents.id, id), { expiresAt: long }),
      }
    },
    async grant_narrowed(system, org) {
      const { id: source } = await insertSource(system, org, { enabled: true, exposed: true })
      const { grantId } = await newAssistant(system, await preRegistered(system)).connect(org.owner)
      const of = eq(platformAccessGrants.id, grantId)
      const [{ scopes } = { scopes: [] }] = await system.db
        .select({ scopes: platformAccessGrants.scopes })
        .from(platformAccessGrants)
        .where(of)
      return {
        narrow: () =>
          org.owner.call(narrowGrant, { grant_id: grantId, scopes: ['data:read'], sources: [source] }),
        widen: null,
        ...row(system, platformAccessGrants, of, { scopes, sources: null }),
      }
    },
    async identity_provider(system, org) {
      const [id, createdAt] = [unique('idp'), system.clock.now()]
      await system.db.insert(organizationIdentityProviders).values({
        id,
        orgId: org.id,
        name: 'Directory',
        issuer: `https://${id}.test`,
        jwksUri: `https://${id}.test/keys`,
        state: 'on',
        defaultScopes: [],
        assertionSeconds: 300,
        tokenMinutes: 60,
        provenAt: createdAt,
        createdAt,
      })
      const of = eq(organizationIdentityProviders.id, id)
      const state = row(system, organizationIdentityProviders, of, { state: 'on' })
      return {
        narrow: () => org.owner.call(updateIdentityProvider, { state: 'paused' }),
        // Resumed with the number that its last change gave it.
        widen: state.lose,
        read: state.read,
        lose: () =>
          system.db.update(organizationIdentityProviders).set({ state: 'on', edition: 1 }).where(of),
      }
    },
  }

function row(
  { db }: ListeningSystem,
  table: PgTable,
  where: SQL | undefined,
  before: Row,
): Pick<Narrowing, 'read' | 'lose'> {
  return {
    async read() {
      const [found] = (await db.select().from(table).where(where)) as Row[]
      return found && Object.fromEntries(Object.keys(before).map((name) => [name, found[name]]))
    },
    lose: () => db.update(table).set(before).where(where),
  }
}
