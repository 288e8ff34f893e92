/** Everything of an organization that can become less: how to make it, take of it, and give it again, and what it gives. */
import type { SQL } from 'drizzle-orm'
import { and, eq, sql } from '../../db/drizzle.ts'
import type { PgTable } from 'drizzle-orm/pg-core'
import { expect } from 'vitest'
import {
  appMaintenance,
  appMembers,
  dataSources,
  groupMembers,
  groups,
  integrations,
  machineAgents,
  maintenanceSettings,
  memberships,
  organizationClientBlocks,
  organizationIdentityProviders,
  organizations,
  platformAccessGrants,
  platformOauthClients,
  provisionedGroups,
  provisionedPeople,
  provisionedPlaces,
} from '../../db/schema.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  saveSearchConfiguration,
  setDataSourceExposure,
  setDataSourceState,
} from '../../src/contracts/data-sources.ts'
import { ENDED_KINDS, type NarrowedKind } from '../../src/contracts/endings.ts'
import { blockOauthClient, narrowGrant, setOauthClientActive } from '../../src/contracts/grants.ts'
import {
  addGroupMember,
  createGroup,
  removeGroup,
  removeGroupMember,
  renameGroup,
} from '../../src/contracts/groups.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { updateIdentityProvider } from '../../src/contracts/identity-provider.ts'
import { updateIntegration } from '../../src/contracts/integrations.ts'
import { updateMachineAgent } from '../../src/contracts/machine-agents.ts'
import { updateAppMaintenance, updateMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { setGroupRole } from '../../src/contracts/scim.ts'
import { PROTECTED_CLASS_NAMES } from '../../src/contracts/protected-classes.ts'
import { endLost, type Ending } from '../../src/cores/endings/index.ts'
import { addEndingKeeper } from '../../src/cores/record-ending.ts'
import { newAssistant, preRegistered, type ListeningSystem } from './assistant.ts'
import { configurationOf, entry, insertSource, makeSource } from './data-sources.ts'
import { makeMachineAgent } from './machine-agents.ts'
import { makeMaintainedApp, turnOn } from './maintenance.ts'
import { makeMember, makeOrganization, unique, type Org } from './make.ts'
import { insertScimBearer, patch, provision } from './scim.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

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
type Make<System extends TestSystem> = (system: System, org: Org) => Promise<Narrowing>

/** All but the access column of a data source, which only a system with databases can set. */
export const NARROWINGS: { readonly [K in Exclude<Kind, 'data_source_access'>]: Make<ListeningSystem> } = {
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
    const set = (enabled: boolean) => () => org.owner.call(updateIntegration, { integration_id: id, enabled })
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
  async provisioned_person(system, org) {
    const at = await insertScimBearer(system, org)
    const { id } = await provision(at)
    const set = (value: boolean) => () =>
      at.directory('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value }))
    return {
      narrow: set(false),
      widen: set(true),
      ...row(system, provisionedPeople, eq(provisionedPeople.id, id), { active: true }),
    }
  },
  async provisioned_place(system, org) {
    const at = await insertScimBearer(system, org)
    const { id } = await provision(at)
    const { body } = await at.directory('POST', '/Groups', {
      displayName: unique('group'),
      members: [{ value: id }],
    })
    const set = (op: 'add' | 'remove') => () =>
      at.directory('PATCH', `/Groups/${body.id}`, patch({ op, path: 'members', value: [{ value: id }] }))
    const of = eq(provisionedPlaces.personId, id)
    const stored = await system.db.select().from(provisionedPlaces).where(of)
    return {
      narrow: set('remove'),
      widen: set('add'),
      read: async () => ({ places: (await system.db.select().from(provisionedPlaces).where(of)).length }),
      lose: () => system.db.insert(provisionedPlaces).values(stored),
    }
  },
  async group_role(system, org) {
    const at = await insertScimBearer(system, org)
    const { body } = await at.directory('POST', '/Groups', { displayName: unique('group') })
    const set = (role: 'admin' | 'none') => () => org.owner.call(setGroupRole, { group_id: body.id, role })
    await set('admin')()
    return {
      narrow: set('none'),
      widen: set('admin'),
      ...row(system, provisionedGroups, eq(provisionedGroups.groupId, body.id), { role: 'admin' }),
    }
  },
  async group(system, org) {
    const [name, renamed] = [unique('group'), unique('group')]
    const { id: group_id } = await org.owner.call(createGroup, { name })
    const set = (to: string) => () => org.owner.call(renameGroup, { group_id, name: to })
    return {
      narrow: set(renamed),
      widen: set(name),
      ...row(system, groups, eq(groups.id, group_id), { name }),
    }
  },
  async group_member(system, org) {
    const { id: group_id } = await org.owner.call(createGroup, { name: unique('group') })
    const [person, agent] = [await makeMember(system, org, 'viewer'), await makeMachineAgent(org.owner)]
    const ids = [person.userId, agent.id]
    const forEach = (operation: typeof addGroupMember | typeof removeGroupMember) => async () => {
      for (const member_id of ids) await org.owner.call(operation, { group_id, member_id })
    }
    await forEach(addGroupMember)()
    const of = eq(groupMembers.groupId, group_id)
    const stored = await system.db.select().from(groupMembers).where(of)
    return {
      narrow: forEach(removeGroupMember),
      widen: forEach(addGroupMember),
      read: async () => ({ members: (await system.db.select().from(groupMembers).where(of)).length }),
      lose: () => system.db.insert(groupMembers).values(stored),
    }
  },
  async maintenance(system, org) {
    const call = system.as({ token: org.owner.token, organization: org.id, entryPoint: 'console' })
    const [allowed] = PROTECTED_CLASS_NAMES
    await turnOn(org)
    const app = await makeMaintainedApp(org)
    const set = (input: { enabled: boolean; mcp_decisions: 'direct' | 'link'; paths: string[] }) => {
      const { paths: protected_paths, ...rest } = input
      const allowed_classes = input.enabled ? [allowed] : []
      return call(updateMaintenanceSettings, { org_id: org.id, ...rest, protected_paths, allowed_classes })
    }
    const most = { enabled: true, mcp_decisions: 'direct', paths: ['a/**'] } as const
    await set({ ...most, paths: ['a/**'] })
    const settings = row(system, maintenanceSettings, eq(maintenanceSettings.orgId, org.id), {
      enabled: true,
      mcpDecisions: 'direct',
      allowedClasses: [allowed],
      protectedPaths: ['a/**'],
    })
    const ofApp = row(system, appMaintenance, eq(appMaintenance.appId, app.id), { enabled: true })
    return {
      narrow: () => set({ enabled: false, mcp_decisions: 'link', paths: ['b/**', 'a/**'] }),
      async widen() {
        await set({ ...most, paths: ['a/**'] })
        await call(updateAppMaintenance, { alias: app.alias, enabled: true })
      },
      read: async () => ({ ...(await settings.read()), app: await ofApp.read() }),
      async lose() {
        await settings.lose()
        await ofApp.lose()
      },
    }
  },
  async app_maintenance(system, org) {
    await turnOn(org)
    const { id, alias } = await makeMaintainedApp(org)
    const set = (enabled: boolean) => () => org.owner.call(updateAppMaintenance, { alias, enabled })
    return {
      narrow: set(false),
      widen: set(true),
      ...row(system, appMaintenance, eq(appMaintenance.appId, id), { enabled: true }),
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
      lose: () => system.db.update(organizationIdentityProviders).set({ state: 'on', edition: 1 }).where(of),
    }
  },
}

/** Of a group the other way to be less. */
export const removedGroup: Make<TestSystem> = async ({ db }, org) => {
  const { id: group_id } = await org.owner.call(createGroup, { name: unique('group') })
  await org.owner.call(addGroupMember, { group_id, member_id: org.owner.userId })
  const [isIt, isOfIt] = [eq(groups.id, group_id), eq(groupMembers.groupId, group_id)]
  const read = async () => ({
    groups: await db.select().from(groups).where(isIt),
    members: await db.select().from(groupMembers).where(isOfIt),
  })
  const before = await read()
  return {
    narrow: () => org.owner.call(removeGroup, { group_id }),
    widen: null,
    read,
    async lose() {
      await db.insert(groups).values(before.groups)
      await db.insert(groupMembers).values(before.members)
    },
  }
}

export const setAccessColumn: Make<TestSystem> = async (system, org) => {
  const configuration = configurationOf([entry('notes')])
  const { id: source_id } = await makeSource(org, {
    name: unique('access').replaceAll('-', '_'),
    sql: `create table notes (id text primary key, title text, embedding vector(3), seen_by text[])`,
    configuration,
  })
  const set = (access_column: string | null) => () =>
    org.owner.call(saveSearchConfiguration, { source_id, ...configuration, access_column })
  await set(null)()
  const of = eq(dataSources.id, source_id)
  const [before] = await system.db.select().from(dataSources).where(of)
  return {
    narrow: set('seen_by'),
    widen: set(null),
    ...row(system, dataSources, of, { configuration: before!.configuration }),
  }
}

/** What became less stays less when the database has lost that, until somebody gives it again; and of others nothing changes. */
export async function expectStaysLess<System extends TestSystem>(
  system: System,
  kind: Kind,
  make: Make<System>,
): Promise<void> {
  const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
  const [one, two] = [await make(system, mine), await make(system, theirs)]
  const before = { one: await one.read(), two: await two.read() }
  const kept: Ending[] = []
  const leave = addEndingKeeper(system.ownDb, {
    async committing(endings) {
      kept.push(...endings)
      return async () => {}
    },
  })
  await one.narrow()
  leave()
  const narrowed = await one.read()
  expect(narrowed).not.toEqual(before.one)
  const end = () => endLost({ db: system.db, clock: () => system.clock.now() }, kept)
  // The database has it, and so nothing is done again.
  expect(await end()).toBe(0)

  await one.lose()
  // Those of this kind were changed for the first time by what is lost.
  await system.db.execute(sql`delete from installation_facts where name like ${`right:${kind}:%`}`)
  expect(await one.read()).toEqual(before.one)
  expect(await end()).toBeGreaterThan(0)
  expect(await one.read()).toEqual(narrowed)
  const trail = async (of: Org) =>
    (await of.owner.call(listAudit, { org_id: of.id, action: 'access.ended_again' })).audit
  const found = await trail(mine)
  expect(found.map(({ subject }) => subject)).toContainEqual(expect.stringContaining(ENDED_KINDS[kind]))
  expect(await end()).toBe(0)
  expect([await two.read(), await trail(theirs)]).toEqual([before.two, []])

  if (!one.widen) return
  await one.widen()
  expect(await end()).toBe(0)
  expect(await one.read()).toEqual(before.one)
  expect(await trail(mine)).toEqual(found)
}

function row(
  { db }: TestSystem,
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
