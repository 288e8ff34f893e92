/** Every list pages without loss and without repetition while rows come in between, and a cursor opens nothing. */
import { listNotifications } from '../../src/contracts/inbox.ts'
import { and, eq } from '../../db/drizzle.ts'
import { addNotifications } from '../../src/cores/notifications/inbox/add-notifications.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import {
  assertionRefusals,
  checkRuns,
  dataSources,
  identityLinks,
  identityProviderClients,
  identityProviderRules,
  loads,
  organizationIdentityProviders,
  pipelineRuns,
  platformAccessGrants,
  platformOauthClients,
  provisionedGroups,
  subscriptions,
} from '../../db/schema.ts'
import { createAppToken, listAppTokens } from '../../src/contracts/app-tokens.ts'
import { summarizeApps } from '../../src/contracts/app-summaries.ts'
import { createApp, listApps, showApp } from '../../src/contracts/apps.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listAskableDataSources, listDataSources, queryDataSource } from '../../src/contracts/data-sources.ts'
import { createCheck, listCheckRuns, listChecks } from '../../src/contracts/checks.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { createDeployment, listDeployments } from '../../src/contracts/deployments.ts'
import { listGrants, listOauthClients, listRegistrations } from '../../src/contracts/grants.ts'
import { listEvals } from '../../src/contracts/evals.ts'
import { createGroup, listGroups } from '../../src/contracts/groups.ts'
import {
  listIdentityLinks,
  listIdentityProviderClients,
  listIdentityProviderRules,
  listRefusals,
} from '../../src/contracts/identity-provider.ts'
import { createMachineAgent, listMachineAgents } from '../../src/contracts/machine-agents.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { connectWebhook, listIntegrations } from '../../src/contracts/integrations.ts'
import { listLoads } from '../../src/contracts/loads.ts'
import { listLogGroups, listLogs, pushLogs } from '../../src/contracts/logs.ts'
import {
  startMaintenanceRun,
  listAppMaintenance,
  listFindings,
  listMaintenanceRuns,
  updateAppMaintenance,
} from '../../src/contracts/maintenance.ts'
import { inviteMember, listInvitations, listMembers } from '../../src/contracts/members.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import {
  createOrganization,
  createOrganizationAsOperator,
  listOrganizations,
  listOrganizationsAsOperator,
} from '../../src/contracts/organizations.ts'
import { createPipeline, listPipelineRuns, listPipelines } from '../../src/contracts/pipelines.ts'
import { listProposalQueue, listProposals } from '../../src/contracts/proposals.ts'
import { listRevisions, pushRevision } from '../../src/contracts/revisions.ts'
import { listProvisionedGroups } from '../../src/contracts/scim.ts'
import { listSessions, signInWithPassword } from '../../src/contracts/sessions.ts'
import {
  listMySupportSessions,
  listSupportSessions,
  startSupportSession,
} from '../../src/contracts/support.ts'
import {
  createSubscription,
  listFollows,
  listMySubscriptions,
  listSubscriptions,
} from '../../src/contracts/subscriptions.ts'
import { createTicket, listTickets } from '../../src/contracts/tickets.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import { endWithReceipt, listReceipts } from '../../src/contracts/receipts.ts'
import { createTrailStream, listTrailStreams } from '../../src/contracts/trail.ts'
import { bindServiceAccount, listServiceAccounts } from '../../src/contracts/workloads.ts'
import { fakeCluster } from '../support/fake-cluster.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { insertSource, type Source } from '../support/data-sources.ts'
import { insertEval } from '../support/evals.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { insertProposal } from '../support/insert-proposal.ts'
import { makeMember, makeOrganization, makePerson, PASSWORD, unique, type Org } from '../support/make.ts'
import { turnOn } from '../support/maintenance.ts'
import { archiveOf } from '../support/source.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let operator: Call

const cluster = fakeCluster()

beforeAll(async () => {
  const env = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ORGANIZATIONS_PER_PERSON: '100' }
  system = await startSystem(env, { checks: fakeChecks, ...cluster.overrides })
  operator = system.as({ token: OPERATOR_TOKEN })
})

afterAll(() => system.stop())

type Page = { ids: string[]; next_cursor?: string | undefined }
type List = {
  /** Puts one more row, the nth, into the list of this organization and its owner. */
  add: (org: Org, nth: number) => Promise<unknown>
  page: (org: Org, at: { limit: number; cursor?: string | undefined }) => Promise<Page>
  limit?: number
}

/** The row of an approval; how one comes about is walked elsewhere. */
async function addGrant(org: Org, clientId: string): Promise<void> {
  const now = system.clock.now()
  await system.db.insert(platformAccessGrants).values({
    id: makeId('grt', now.getTime()),
    orgId: org.id,
    userId: org.owner.userId,
    clientId,
    clientKind: 'dynamic',
    redirectHost: '127.0.0.1',
    resource: 'platform',
    scopes: ['data:read'],
    payload: {},
    keyEpoch: system.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
}

/** The one of an organization whose evals are listed. */
async function evaluatedSource(org: Org): Promise<Source> {
  const name = 'evaluated'
  const [known] = await system.db
    .select({ id: dataSources.id })
    .from(dataSources)
    .where(and(eq(dataSources.orgId, org.id), eq(dataSources.name, name)))
  return known ? { ...known, name, sourceId: `db_${name}` } : insertSource(system, org, { name })
}

/** A draft: what is in its lists does not depend on whether it is on. */
async function providerOf(org: Org): Promise<string> {
  const now = system.clock.now()
  const providers = organizationIdentityProviders
  await system.db
    .insert(providers)
    .values({
      id: makeId('idp', now.getTime()),
      orgId: org.id,
      name: 'Corporate sign-in',
      issuer: 'https://idp.test',
      jwksUri: 'https://idp.test/jwks',
      state: 'draft',
      defaultScopes: [],
      assertionSeconds: 300,
      tokenMinutes: 15,
      createdAt: now,
    })
    .onConflictDoNothing()
  const [row] = await system.db.select().from(providers).where(eq(providers.orgId, org.id))
  return row!.id
}

/** Of letters only: what has digits would be one group with the others. */
const randomWord = () => String.fromCodePoint(...Array.from(randomBytes(12), (byte) => 0x61 + (byte % 26)))
/** Every organization calls its app the same, so that a list that forgets the organization shows it. */
const makeShop = (org: Org) =>
  org.owner.call(createApp, { alias: 'shop', name: 'Shop' }).catch(() => undefined)
/** With the finding behind it. */
async function addProposal(org: Org): Promise<void> {
  await makeShop(org)
  await turnOn(org)
  const { id } = await org.owner.call(showApp, { alias: 'shop' })
  await insertProposal(system, { orgId: org.id, id })
}
async function pushLine(org: Org, line: string): Promise<void> {
  await makeShop(org)
  await org.owner.call(pushLogs, { alias: 'shop', body: Buffer.from(line) })
}
async function pushSource(org: Org, text: string): Promise<string> {
  await makeShop(org)
  const { id } = await org.owner.call(pushRevision, { alias: 'shop', body: archiveOf({ 'a.txt': text }) })
  return id
}
const CHECK = { name: 'Health', definition: { kind: 'http', url: 'https://shop.test/' } } as const
async function healthOf(org: Org): Promise<string> {
  await makeShop(org)
  await org.owner.call(createCheck, { alias: 'shop', ...CHECK }).catch(() => undefined)
  return (await org.owner.call(listChecks, { alias: 'shop' })).checks[0]!.id
}
async function nightlyOf(org: Org): Promise<string> {
  await makeShop(org)
  await org.owner.call(createPipeline, { alias: 'shop', name: 'nightly' }).catch(() => undefined)
  return (await org.owner.call(listPipelines, { alias: 'shop' })).pipelines[0]!.id
}
/** The longest name there is, in letters that take the most room, so that a cursor is as long as cursors get. */
const longName = () => String.fromCodePoint(...Array.from(randomBytes(120), (byte) => 0x4e00 + byte))
const startSession = ({ id }: Pick<Org, 'id'>, staff_email: string) =>
  operator(startSupportSession, { org: id, staff_email, reason: 'They asked for help' })
const LISTS: Record<string, List> = {
  listOrganizations: {
    add: (org) => org.owner.call(createOrganization, { name: longName() }),
    page: async (org, at) => {
      const { organizations, next_cursor } = await org.owner.call(listOrganizations, at)
      return { ids: organizations.map(({ id }) => id), next_cursor }
    },
  },
  listOrganizationsAsOperator: {
    add: () => operator(createOrganizationAsOperator, { name: longName() }),
    page: async (_org, at) => {
      const { organizations, next_cursor } = await operator(listOrganizationsAsOperator, at)
      return { ids: organizations.map(({ id }) => id), next_cursor }
    },
    // This list is the whole installation's, with what every other test made.
    limit: 100,
  },
  listRegistrations: {
    add: async () => {
      const now = system.clock.now()
      const clientId = makeId('dcr', now.getTime())
      const expiresAt = new Date(now.getTime() + 3_600_000)
      await system.db.insert(platformOauthClients).values({ clientId, kind: 'dynamic', expiresAt })
    },
    page: async (_org, at) => {
      const { registrations, next_cursor } = await operator(listRegistrations, at)
      return { ids: registrations.map(({ client_id }) => client_id), next_cursor }
    },
    // This list is the whole installation's too.
    limit: 100,
  },
  listNotifications: {
    add: (org) =>
      withTransaction(system.db, (tx) =>
        addNotifications(tx, () => system.clock.now(), [
          {
            orgId: org.id,
            userId: org.owner.userId,
            eventId: unique('event'),
            type: 'deploy.failed',
            subject: 'app/shop',
            summary: 'A deployment failed',
            url: null,
          },
        ]),
      ),
    page: async (org, at) => {
      const { notifications, next_cursor } = await org.owner.call(listNotifications, at)
      return { ids: notifications.map(({ id }) => id), next_cursor }
    },
  },
  listGrants: {
    add: (org) => addGrant(org, unique('client')),
    page: async (org, at) => {
      const { grants, next_cursor } = await org.owner.call(listGrants, at)
      return { ids: grants.map(({ id }) => id), next_cursor }
    },
  },
  listReceipts: {
    add: (org) => org.owner.call(endWithReceipt, { of: 'organization', dry_run: true }),
    page: async (org, at) => {
      const { receipts, next_cursor } = await org.owner.call(listReceipts, at)
      return { ids: receipts.map(({ id }) => id), next_cursor }
    },
  },
  listTrailStreams: {
    add: (org) =>
      org.owner.call(createTrailStream, {
        kind: 'webhook',
        url: `https://siem.test/${unique('path')}`,
      }),
    page: async (org, at) => {
      const { trail_streams, next_cursor } = await org.owner.call(listTrailStreams, at)
      return { ids: trail_streams.map(({ id }) => id), next_cursor }
    },
  },
  listGroups: {
    add: (org) => org.owner.call(createGroup, { name: unique('group') }),
    page: async (org, at) => {
      const { groups, next_cursor } = await org.owner.call(listGroups, at)
      return { ids: groups.map(({ id }) => id), next_cursor }
    },
  },
  listProvisionedGroups: {
    add: async (org) => {
      const { id: groupId } = await org.owner.call(createGroup, { name: unique('group') })
      await system.db
        .insert(provisionedGroups)
        .values({ orgId: org.id, groupId, updatedAt: system.clock.now() })
    },
    page: async (org, at) => {
      const { groups, next_cursor } = await org.owner.call(listProvisionedGroups, at)
      return { ids: groups.map(({ id }) => id), next_cursor }
    },
  },
  listEvals: {
    add: async (org) => insertEval(system, org, await evaluatedSource(org)),
    page: async (org, at) => {
      const { sourceId } = await evaluatedSource(org)
      const { evals, next_cursor } = await org.owner.call(listEvals, { source_id: sourceId, ...at })
      return { ids: evals.map(({ id }) => id), next_cursor }
    },
  },
  listMachineAgents: {
    add: (org) => org.owner.call(createMachineAgent, { name: 'The same name' }),
    page: async (org, at) => {
      const { machine_agents, next_cursor } = await org.owner.call(listMachineAgents, at)
      return { ids: machine_agents.map(({ id }) => id), next_cursor }
    },
  },
  listOauthClients: {
    add: (org) => addGrant(org, unique('client')),
    page: async (org, at) => {
      const { oauth_clients, next_cursor } = await org.owner.call(listOauthClients, at)
      return { ids: oauth_clients.map(({ client_id }) => client_id), next_cursor }
    },
  },
  listIdentityProviderClients: {
    add: async (org) =>
      system.db.insert(identityProviderClients).values({
        providerId: await providerOf(org),
        clientId: unique('client'),
        kind: 'pre_registered',
        maxScopes: ['data:read'],
        resources: ['platform'],
        createdAt: system.clock.now(),
      }),
    page: async (org, at) => {
      const { clients, next_cursor } = await org.owner.call(listIdentityProviderClients, at)
      return { ids: clients.map(({ client_id }) => client_id), next_cursor }
    },
  },
  listIdentityProviderRules: {
    add: async (org) => {
      const providerId = await providerOf(org)
      const ofProvider = eq(identityProviderRules.providerId, providerId)
      const position = (await system.db.$count(identityProviderRules, ofProvider)) + 1
      const rule = { claim: 'groups', value: unique(org.id), scopes: [] }
      await system.db.insert(identityProviderRules).values({ providerId, position, ...rule })
    },
    page: async (org, at) => {
      const { rules, next_cursor } = await org.owner.call(listIdentityProviderRules, at)
      return { ids: rules.map(({ value }) => value!), next_cursor }
    },
  },
  listIdentityLinks: {
    add: async (org) =>
      system.db.insert(identityLinks).values({
        id: makeId('idl', system.clock.now().getTime()),
        providerId: await providerOf(org),
        subject: unique('subject'),
        userId: org.owner.userId,
        linkedBy: 'admin',
        createdAt: system.clock.now(),
      }),
    page: async (org, at) => {
      const { links, next_cursor } = await org.owner.call(listIdentityLinks, at)
      return { ids: links.map(({ id }) => id), next_cursor }
    },
  },
  listRefusals: {
    add: async (org) =>
      system.db.insert(assertionRefusals).values({
        id: makeId('ref', system.clock.now().getTime()),
        providerId: await providerOf(org),
        reason: 'signature',
        refusedAt: system.clock.now(),
      }),
    page: async (org, at) => {
      const { refusals, next_cursor } = await org.owner.call(listRefusals, at)
      return { ids: refusals.map(({ id }) => id), next_cursor }
    },
  },
  listMembers: {
    add: async (org, nth) => {
      // Equal names: the second part of the key must keep them apart.
      const name = nth < 3 ? 'Twin' : longName()
      const person = await makePerson(system, { name, email: `${unique('person')}@people.test` })
      return makeMember(system, org, 'viewer', person)
    },
    page: async (org, at) => {
      const { members, next_cursor } = await org.owner.call(listMembers, { org_id: org.id, ...at })
      return { ids: members.map(({ user_id }) => user_id), next_cursor }
    },
  },
  listInvitations: {
    add: (org) => org.owner.call(inviteMember, { org_id: org.id, email: `${unique('new')}@people.test` }),
    page: async (org, at) => {
      const { invitations, next_cursor } = await org.owner.call(listInvitations, { org_id: org.id, ...at })
      return { ids: invitations.map(({ id }) => id), next_cursor }
    },
  },
  listSessions: {
    add: (org) => system.as()(signInWithPassword, { email: org.owner.email, password: PASSWORD }),
    page: async (org, at) => {
      const { sessions, next_cursor } = await org.owner.call(listSessions, at)
      return { ids: sessions.map(({ id }) => id), next_cursor }
    },
  },
  listApiTokens: {
    add: (org) => org.owner.call(createApiToken, { name: unique('token') }),
    page: async (org, at) => {
      const { tokens, next_cursor } = await org.owner.call(listApiTokens, { all: 'true', ...at })
      return { ids: tokens.map(({ id }) => id), next_cursor }
    },
  },
  listDataSources: {
    add: (org) => insertSource(system, org),
    page: async (org, at) => {
      const { data_sources, next_cursor } = await org.owner.call(listDataSources, at)
      return { ids: data_sources.map(({ id }) => id), next_cursor }
    },
  },
  listAskableDataSources: {
    add: (org) => insertSource(system, org, { enabled: true, exposed: true }),
    page: async (org, at) => {
      const { data_sources, next_cursor } = await org.owner.call(listAskableDataSources, at)
      return { ids: data_sources.map(({ id }) => id), next_cursor }
    },
  },
  listActivity: {
    add: (org) =>
      org.owner.call(queryDataSource, { source_id: 'db_nothing', query: 'x' }).catch(() => undefined),
    page: async (org, at) => {
      const { activity, next_cursor } = await org.owner.call(listActivity, { type: 'data_source', ...at })
      return { ids: activity.map(({ id }) => id), next_cursor }
    },
  },
  listLoads: {
    add: async (org) => {
      const now = system.clock.now()
      const [known] = (await org.owner.call(listDataSources, {})).data_sources
      const sourceId = known?.id ?? (await insertSource(system, org, { name: 'loaded' })).id
      const created = { createdBy: org.owner.userId, createdByName: org.owner.name, createdAt: now }
      await system.db.insert(loads).values({
        orgId: org.id,
        id: makeId('lod', now.getTime()),
        sourceId,
        filename: 'rows.csv',
        format: 'csv',
        bytes: 8,
        sha256: '0'.repeat(64),
        state: 'canceled',
        updatedAt: now,
        ...created,
      })
    },
    page: async (org, at) => {
      const { loads: listed, next_cursor } = await org.owner.call(listLoads, { name: 'loaded', ...at })
      return { ids: listed.map(({ id }) => id), next_cursor }
    },
  },
  listApps: {
    add: (org) => org.owner.call(createApp, { alias: unique('app'), name: longName() }),
    page: async (org, at) => {
      const { apps, next_cursor } = await org.owner.call(listApps, at)
      return { ids: apps.map(({ id }) => id), next_cursor }
    },
  },
  summarizeApps: {
    add: (org) => org.owner.call(createApp, { alias: unique('app'), name: longName() }),
    page: async (org, at) => {
      const { apps, next_cursor } = await org.owner.call(summarizeApps, at)
      return { ids: apps.map(({ id }) => id), next_cursor }
    },
  },
  listAppMaintenance: {
    add: (org) => org.owner.call(createApp, { alias: unique('app'), name: longName() }),
    page: async (org, at) => {
      const { apps, next_cursor } = await org.owner.call(listAppMaintenance, { org_id: org.id, ...at })
      return { ids: apps.map(({ app }) => app), next_cursor }
    },
  },
  listMaintenanceRuns: {
    add: async (org) => {
      await makeShop(org)
      await turnOn(org)
      await org.owner.call(updateAppMaintenance, { alias: 'shop', enabled: true })
      // All but the first are skipped.
      await org.owner.call(startMaintenanceRun, { alias: 'shop' })
    },
    page: async (org, at) => {
      const { runs, next_cursor } = await org.owner.call(listMaintenanceRuns, { alias: 'shop', ...at })
      return { ids: runs.map(({ execution_id }) => execution_id), next_cursor }
    },
  },
  listFindings: {
    add: addProposal,
    page: async (org, at) => {
      const { findings, next_cursor } = await org.owner.call(listFindings, { alias: 'shop', ...at })
      return { ids: findings.map(({ id }) => id), next_cursor }
    },
  },
  listProposals: {
    add: addProposal,
    page: async (org, at) => {
      const { proposals, next_cursor } = await org.owner.call(listProposals, { alias: 'shop', ...at })
      return { ids: proposals.map(({ id }) => id), next_cursor }
    },
  },
  listProposalQueue: {
    add: addProposal,
    page: async (org, at) => {
      const { proposals, next_cursor } = await org.owner.call(listProposalQueue, { org_id: org.id, ...at })
      return { ids: proposals.map(({ id }) => id), next_cursor }
    },
  },
  listAppTokens: {
    add: async (org) => {
      const { call } = org.owner
      await makeShop(org)
      return call(createAppToken, { alias: 'shop', name: longName(), scope: 'apps:run' })
    },
    page: async (org, at) => {
      const { tokens, next_cursor } = await org.owner.call(listAppTokens, { alias: 'shop', ...at })
      return { ids: tokens.map(({ id }) => id), next_cursor }
    },
  },
  listServiceAccounts: {
    add: async (org) => {
      await makeShop(org)
      const account = cluster.addAccount(org.id, unique('worker'))
      return org.owner.call(bindServiceAccount, { alias: 'shop', ...account })
    },
    page: async (org, at) => {
      const found = await org.owner.call(listServiceAccounts, { alias: 'shop', ...at })
      return { ids: found.service_accounts.map(({ id }) => id), next_cursor: found.next_cursor }
    },
  },
  listLogs: {
    add: (org) => pushLine(org, `line ${randomBytes(3).toString('hex')}`),
    page: async (org, at) => {
      const { lines, next_cursor } = await org.owner.call(listLogs, { alias: 'shop', ...at })
      return { ids: lines.map(({ id }) => id), next_cursor }
    },
  },
  listLogGroups: {
    add: (org) => pushLine(org, `a ${randomWord()} came`),
    page: async (org, at) => {
      const { groups, next_cursor } = await org.owner.call(listLogGroups, { alias: 'shop', ...at })
      return { ids: groups.map(({ id }) => id), next_cursor }
    },
  },
  listRevisions: {
    add: (org) => pushSource(org, randomWord()),
    page: async (org, at) => {
      const { revisions, next_cursor } = await org.owner.call(listRevisions, { alias: 'shop', ...at })
      return { ids: revisions.map(({ id }) => id), next_cursor }
    },
  },
  listDeployments: {
    add: async (org) => {
      const revision_id = await pushSource(org, 'the same')
      return org.owner.call(createDeployment, { alias: 'shop', revision_id })
    },
    page: async (org, at) => {
      const { deployments, next_cursor } = await org.owner.call(listDeployments, { alias: 'shop', ...at })
      return { ids: deployments.map(({ id }) => id), next_cursor }
    },
  },
  listChecks: {
    add: async (org) => {
      await makeShop(org)
      return org.owner.call(createCheck, { alias: 'shop', ...CHECK, name: longName() })
    },
    page: async (org, at) => {
      const { checks, next_cursor } = await org.owner.call(listChecks, { alias: 'shop', ...at })
      return { ids: checks.map(({ id }) => id), next_cursor }
    },
  },
  listCheckRuns: {
    add: async (org) => {
      const now = system.clock.now()
      const id = makeId('chr', now.getTime())
      const slot = randomBytes(4).readInt32BE()
      const run = { orgId: org.id, checkId: await healthOf(org), id, slot, at: now, result: 'pass' as const }
      await system.db.insert(checkRuns).values(run)
    },
    page: async (org, at) => {
      const path = { alias: 'shop', check_id: await healthOf(org) }
      const { runs, next_cursor } = await org.owner.call(listCheckRuns, { ...path, ...at })
      return { ids: runs.map(({ id }) => id), next_cursor }
    },
  },
  listPipelines: {
    add: async (org) => {
      await makeShop(org)
      return org.owner.call(createPipeline, { alias: 'shop', name: randomWord() })
    },
    page: async (org, at) => {
      const { pipelines, next_cursor } = await org.owner.call(listPipelines, { alias: 'shop', ...at })
      return { ids: pipelines.map(({ id }) => id), next_cursor }
    },
  },
  listPipelineRuns: {
    add: async (org) => {
      const pipelineId = await nightlyOf(org)
      const { id: appId } = (await org.owner.call(listApps, {})).apps[0]!
      const now = system.clock.now()
      const id = makeId('prn', now.getTime())
      const run = { orgId: org.id, id, appId, pipelineId, state: 'succeeded' as const, dueAt: now }
      await system.db.insert(pipelineRuns).values({ ...run, isScheduled: false })
    },
    page: async (org, at) => {
      const path = { alias: 'shop', pipeline_id: await nightlyOf(org) }
      const { runs, next_cursor } = await org.owner.call(listPipelineRuns, { ...path, ...at })
      return { ids: runs.map(({ id }) => id), next_cursor }
    },
  },
  listTickets: {
    add: async (org) => {
      const { call } = org.owner
      await makeShop(org)
      return call(createTicket, { alias: 'shop', title: 'It broke', body: 'Badly.' })
    },
    page: async (org, at) => {
      const { tickets, next_cursor } = await org.owner.call(listTickets, { alias: 'shop', ...at })
      return { ids: tickets.map(({ id }) => id), next_cursor }
    },
  },
  listSubscriptions: {
    add: async (org, nth) => {
      const connection = { name: 'Receiver', url: 'https://hooks.test/in' }
      await org.owner.call(connectWebhook, connection).catch(() => undefined)
      const [integration] = (await org.owner.call(listIntegrations, {})).integrations
      const pattern = `event.number_${nth}_${randomBytes(3).toString('hex')}`
      return org.owner.call(createSubscription, { integration_id: integration!.id, pattern })
    },
    page: async (org, at) => {
      const { subscriptions: rows, next_cursor } = await org.owner.call(listSubscriptions, at)
      return { ids: rows.map(({ id }) => id), next_cursor }
    },
  },
  listMySubscriptions: {
    add: async (org) => {
      const now = system.clock.now()
      const mail = { orgId: org.id, userId: org.owner.userId, timing: 'daily' as const, createdAt: now }
      const id = makeId('sub', now.getTime())
      await system.db.insert(subscriptions).values({ ...mail, id, pattern: 'a.b', enabled: true })
    },
    page: async (org, at) => {
      const { subscriptions: rows, next_cursor } = await org.owner.call(listMySubscriptions, at)
      return { ids: rows.map(({ id }) => id), next_cursor }
    },
  },
  listFollows: {
    add: (org) => org.owner.call(createApp, { alias: unique('app'), name: longName() }),
    page: async (org, at) => {
      const { follows, next_cursor } = await org.owner.call(listFollows, at)
      return { ids: follows.map(({ app }) => app), next_cursor }
    },
  },
  listDeliveries: {
    add: (org) => insertDelivery(system, org, {}),
    page: async (org, at) => {
      const { deliveries, next_cursor } = await org.owner.call(listDeliveries, at)
      return { ids: deliveries.map(({ id }) => id), next_cursor }
    },
  },
  listSupportSessions: {
    add: async (org) => startSession(org, (await makePerson(system)).email),
    page: async (org, at) => {
      const { support_sessions, next_cursor } = await org.owner.call(listSupportSessions, at)
      return { ids: support_sessions.map(({ id }) => id), next_cursor }
    },
  },
  listMySupportSessions: {
    add: async (org) => startSession(await makeOrganization(system), org.owner.email),
    page: async (org, at) => {
      const { support_sessions, next_cursor } = await org.owner.call(listMySupportSessions, at)
      return { ids: support_sessions.map(({ id }) => id), next_cursor }
    },
  },
  listAudit: {
    add: (org) => org.owner.call(createApiToken, { name: unique('token') }),
    page: async (org, at) => {
      const { audit, next_cursor } = await org.owner.call(listAudit, { org_id: org.id, ...at })
      return { ids: audit.map(({ id }) => id), next_cursor }
    },
  },
}

test('every list of the table of operations is walked here', () => {
  // Rows of somebody's own table, which test/support/row-access.ts pages through.
  const isOwnTable = (name: string) => name === 'previewDataSource'
  const lists = OPERATIONS.filter((op) => 'next_cursor' in op.output.shape && !isOwnTable(op.name)).map(
    ({ name }) => name,
  )
  expect(Object.keys(LISTS).toSorted()).toEqual(lists.toSorted())
})

async function walk(
  org: Org,
  { page, limit = 2 }: List,
  between?: () => Promise<unknown>,
): Promise<string[]> {
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const got: Page = await page(org, { limit, cursor })
    expect(got.ids.length).toBeLessThanOrEqual(limit)
    seen.push(...got.ids)
    cursor = got.next_cursor
    // No more than the list had: a list that grows as fast as it is read has no end.
    if (cursor !== undefined && seen.length <= 12) await between?.()
  } while (cursor !== undefined)
  return seen
}

/** All lists of the same two organizations, a row to a page; the rest takes half a minute. */
describe.skipIf(inject('everyCase'))(
  'a list goes on where a page ended, with rows of its own organization',
  () => {
    let mine: Org
    let theirs: Org
    beforeAll(async () => {
      ;[mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
    })
    const ELSEWHERE =
      /^list(Evals|Members|Integrations|Activity|Logs|LogGroups|Loads|Revisions|Deliveries|Follows|Audit|Notifications)$/
    /** Those of the whole installation go on after a hundred; of some another walk reads the pages. */
    const HERE = Object.entries(LISTS).filter(
      ([name, { limit }]) => limit === undefined && !ELSEWHERE.test(name),
    )
    let nth = 0

    /** With what other lists have brought, at least so many. */
    async function idsOf(org: Org, { add, page }: List, atLeast: number): Promise<string[]> {
      // Of an app or a provider that is not there yet, there is no list.
      const { ids } = await page(org, { limit: 50 }).catch((): Page => ({ ids: [] }))
      if (ids.length >= atLeast) return ids
      for (let n = ids.length; n < atLeast; n++) await add(org, nth++)
      return (await page(org, { limit: 50 })).ids
    }

    test.each(HERE)('%s', async (_name, list) => {
      const whole = await idsOf(mine, list, 2)
      const foreign = new Set(await idsOf(theirs, list, 1))
      expect(whole.filter((id) => id !== 'shop' && foreign.has(id))).toEqual([])
      const first = await list.page(mine, { limit: 1 })
      const second = await list.page(mine, { limit: 1, cursor: first.next_cursor })
      expect([...first.ids, ...second.ids]).toEqual(whole.slice(0, 2))
    })
  },
)

describe.runIf(inject('everyCase')).each(Object.entries(LISTS))('%s', (_name, list) => {
  test('shows every row once, in one order, while others come in', async () => {
    const org = await makeOrganization(system)
    for (let n = 0; n < 7; n++) await list.add(org, n)
    const before = await walk(org, list)
    expect(before.length).toBeGreaterThanOrEqual(7)
    expect(await walk(org, { ...list, limit: 200 })).toEqual(before)
    const during = await walk(org, list, () => list.add(org, 99))
    expect(new Set(during).size).toBe(during.length)
    const known = new Set(before)
    expect(during.filter((id) => known.has(id))).toEqual(before)
  })

  test('a page that just fits is the last one', async () => {
    const org = await makeOrganization(system)
    for (let n = 0; n < 3; n++) await list.add(org, n)
    const { length } = (await list.page(org, { limit: 200 })).ids
    // The installation's list is longer than any page by now, or soon.
    if (length === 200) return
    expect((await list.page(org, { limit: length })).next_cursor).toBeUndefined()
    expect((await list.page(org, { limit: length - 1 })).next_cursor).toBeDefined()
  })

  test('a cursor of another organization finds one’s own rows only', async () => {
    const [mine, theirs] = [await makeOrganization(system), await makeOrganization(system)]
    for (const org of [mine, theirs]) for (let n = 0; n < 4; n++) await list.add(org, n)
    const own = new Set(await walk(mine, list))
    const { next_cursor } = await list.page(theirs, { limit: 2 })
    const { ids } = await list.page(mine, { limit: list.limit ?? 200, cursor: next_cursor })
    expect(ids.filter((id) => !own.has(id))).toEqual([])
  })
})
