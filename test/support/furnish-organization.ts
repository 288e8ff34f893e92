/** An organization that has one of everything. Its system needs the fakes of fake-integrations.ts. */
import {
  assertionRefusals,
  identityLinks,
  identityProviderClients,
  identityProviderRules,
  loads,
  notifications,
  organizationIdentityProviders,
  platformAccessGrants,
  subscriptions as subscriptionRows,
} from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import * as apps from '../../src/contracts/apps.ts'
import { createDeployment } from '../../src/contracts/deployments.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { createCheck } from '../../src/contracts/checks.ts'
import * as grants from '../../src/contracts/grants.ts'
import { addGroupMember, createGroup } from '../../src/contracts/groups.ts'
import { makeId } from '../../src/contracts/ids.ts'
import * as integrations from '../../src/contracts/integrations.ts'
import { createMachineAgent } from '../../src/contracts/machine-agents.ts'
import * as maintenance from '../../src/contracts/maintenance.ts'
import * as members from '../../src/contracts/members.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { createPipeline } from '../../src/contracts/pipelines.ts'
import { SCOPE_EDITION } from '../../src/contracts/scopes.ts'
import * as subscriptions from '../../src/contracts/subscriptions.ts'
import { startSupportSession } from '../../src/contracts/support.ts'
import { createTicket } from '../../src/contracts/tickets.ts'
import { createApiToken } from '../../src/contracts/tokens.ts'
import { insertSource } from './data-sources.ts'
import { insertDelivery } from './deliveries.ts'
import { archiveOf } from './source.ts'
import { makeRevision } from './deployments.ts'
import { stateIn } from './fake-integrations.ts'
import { insertProposal } from './insert-proposal.ts'
import { makeMember, type Org, type Person } from './make.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

/** `colleague` becomes an admin, `member` a viewer; `staff` belongs to no organization. */
export type People = {
  readonly owner: Person
  readonly colleague: Person
  readonly member: Person
  readonly staff: Person
}

type Names = {
  readonly client: string
  readonly issuer: string
  readonly blocked: string
  readonly address: string
  readonly hook: string
  readonly alias: string
  readonly source: string
}

export type FurnishedOrganization = Awaited<ReturnType<typeof furnishOrganization>>

export async function furnishOrganization(
  system: TestSystem,
  org: Org,
  { owner, colleague, member, staff }: People,
  names: Names,
) {
  const as = (person: Person): Call => system.as({ token: person.token, organization: org.id })
  const [byOwner, byMember] = [as(owner), as(member)]
  const orgId = org.id
  const now = system.clock.now()
  await makeMember(system, org, 'admin', colleague)
  await makeMember(system, org, 'viewer', member)
  const invited = await byOwner(members.inviteMember, { org_id: orgId, email: names.address })
  const token = await byMember(createApiToken, { name: 'shared' })
  await as(colleague)(createApiToken, { name: 'of an admin' })
  const grant_id = makeId('grt', now.getTime())
  await system.db.insert(platformAccessGrants).values({
    id: grant_id,
    orgId,
    userId: member.userId,
    clientId: names.client,
    clientKind: 'dynamic',
    redirectHost: '127.0.0.1',
    resource: 'platform',
    scopes: ['data:read', 'maintenance:read'],
    scopeEdition: SCOPE_EDITION,
    payload: {},
    keyEpoch: system.system.auth?.keyEpoch ?? 'of the vendor',
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
  const identityProvider = await insertProvider(system, org, member, names)
  await byOwner(grants.blockOauthClient, { client_id: names.blocked, blocked: true })
  const machine_agent = await byOwner(createMachineAgent, { name: 'nightly', owner_id: member.userId })
  const { id: source_id } = await insertSource(system, org, {
    name: names.source,
    enabled: true,
    exposed: true,
  })
  const { id: group_id } = await byOwner(createGroup, { name: 'board' })
  await byOwner(addGroupMember, { group_id, member_id: member.userId })
  const load_id = makeId('lod', now.getTime())
  await system.db.insert(loads).values({
    orgId,
    id: load_id,
    sourceId: source_id,
    filename: 'shared.csv',
    format: 'csv',
    state: 'succeeded',
    bytes: 8,
    received: 8,
    sha256: '0'.repeat(64),
    createdBy: org.owner.userId,
    createdByName: org.owner.name,
    createdAt: now,
    updatedAt: now,
    finishedAt: now,
  })
  const app = await byOwner(apps.createApp, { alias: names.alias, name: 'Shop' })
  await byOwner(apps.setAppMember, { alias: names.alias, user_id: member.userId, role: 'builder' })
  const appToken = await byMember(createAppToken, {
    alias: names.alias,
    name: 'collector',
    scope: 'apps:report',
  })
  await byMember(pushRevision, { alias: names.alias, body: archiveOf({ 'README.md': '# Shop\n' }) })
  const revision_id = await makeRevision(system, { orgId, id: app.id })
  const { id: deployment_id } = await byMember(createDeployment, { alias: names.alias, revision_id })
  await byMember(pushLogs, { alias: names.alias, body: Buffer.from('a line\n') })
  const { id: pipeline_id } = await byMember(createPipeline, { alias: names.alias, name: 'nightly' })
  const { id: check_id } = await byMember(createCheck, {
    alias: names.alias,
    name: 'shared',
    definition: { kind: 'logs', pattern: 'panic' },
  })
  const { id: ticket_id } = await byMember(createTicket, {
    alias: names.alias,
    title: 'Broken',
    body: 'Badly.',
  })
  await byOwner(maintenance.updateMaintenanceSettings, { org_id: orgId, enabled: true, model: 'rules' })
  await byOwner(maintenance.updateAppMaintenance, { alias: names.alias, enabled: true })
  const { execution_id } = await byOwner(maintenance.startMaintenanceRun, {
    alias: names.alias,
    idempotency_key: 'shared',
  })
  const proposal = await insertProposal(system, { orgId, id: app.id }, { executionId: execution_id })
  await byMember(subscriptions.setFollow, { alias: names.alias, categories: ['Tickets'] })
  const { id: integration_id } = await byOwner(integrations.connectWebhook, { name: 'Hook', url: names.hook })
  const { id: subscription_id } = await byOwner(subscriptions.createSubscription, {
    integration_id,
    pattern: 'deploy.failed',
  })
  const install = await byOwner(integrations.beginChatInstall, {})
  await byOwner(integrations.completeChatInstall, { code: 'T1/#general', state: stateIn(install.url) })
  const link = await byMember(integrations.beginChatLink, {})
  await byMember(integrations.completeChatLink, {
    code: `T1/${member.userId}/Ada`,
    state: stateIn(link.url),
  })
  await byOwner(integrations.connectForum, { url: 'https://forum.test', api_key: 'key' })
  const mySubscription = makeId('sub', now.getTime())
  await system.db.insert(subscriptionRows).values({
    orgId,
    id: mySubscription,
    userId: member.userId,
    pattern: 'support.ticket.replied',
    timing: 'immediately',
    enabled: true,
    createdAt: now,
  })
  const notification_id = makeId('ntf', now.getTime())
  await system.db.insert(notifications).values({
    orgId,
    userId: member.userId,
    id: notification_id,
    eventId: 'evt_shared',
    type: 'support.ticket.replied',
    subject: 'tickets/1',
    summary: 'A reply',
    at: now,
  })
  const failed = { integrationId: integration_id, subscriptionId: subscription_id, state: 'failed' } as const
  const { id: delivery_id } = await insertDelivery(system, org, failed)
  const visit = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, {
    org: orgId,
    staff_email: staff.email,
    reason: 'They asked for help',
  })
  return {
    org,
    as,
    byOwner,
    byMember,
    byStaff: as(staff),
    invited,
    token,
    grant_id,
    machine_agent,
    identityProvider,
    source_id,
    group: { group_id },
    load_id,
    app,
    app_token: appToken,
    revision_id,
    deployment: { alias: names.alias, deployment_id },
    pipeline: { alias: names.alias, pipeline_id },
    check: { alias: names.alias, check_id },
    ticket: { alias: names.alias, ticket_id },
    run: { alias: names.alias, execution_id },
    proposal: { alias: names.alias, proposal_id: proposal.id, diff_sha256: proposal.diffSha256 },
    finding: { alias: names.alias, finding_id: proposal.findingId },
    integration_id,
    subscription_id,
    mySubscription,
    notification_id,
    delivery_id,
    support_session_id: visit.id,
  }
}

/** Paused, because one issuer is that of one organization; the agent of the member's came in by it. */
async function insertProvider(system: TestSystem, { id: orgId }: Org, member: Person, names: Names) {
  const now = system.clock.now()
  const [providerId, link_id, grantId] = [
    makeId('idp', now.getTime()),
    makeId('idl', now.getTime()),
    makeId('grt', now.getTime()),
  ]
  const subject = `at-provider|${member.userId}`
  const made = { id: providerId, link_id, subject }
  // With hosted auth organizations are the vendor’s, and so are their identity providers.
  if (system.isHosted) return made
  await system.db.insert(organizationIdentityProviders).values({
    id: providerId,
    orgId,
    name: 'Corporate sign-in',
    issuer: names.issuer,
    jwksUri: `${names.issuer}/jwks`,
    state: 'paused',
    defaultScopes: ['data:read'],
    assertionSeconds: 300,
    tokenMinutes: 15,
    provenAt: now,
    createdAt: now,
  })
  await system.db.insert(identityProviderClients).values({
    providerId,
    clientId: names.client,
    kind: 'pre_registered',
    maxScopes: ['data:read'],
    resources: ['platform'],
    createdAt: now,
  })
  await system.db
    .insert(identityProviderRules)
    .values({ providerId, position: 1, claim: null, value: null, scopes: ['data:read'] })
  await system.db.insert(identityLinks).values({
    id: link_id,
    providerId,
    subject,
    userId: member.userId,
    linkedBy: 'admin',
    createdAt: now,
  })
  await system.db.insert(assertionRefusals).values({
    id: makeId('ref', now.getTime()),
    providerId,
    clientId: names.client,
    reason: 'signature',
    subject,
    refusedAt: now,
  })
  await system.db.insert(platformAccessGrants).values({
    id: grantId,
    orgId,
    userId: member.userId,
    clientId: names.client,
    clientKind: 'pre_registered',
    redirectHost: 'idp.test',
    via: 'enterprise',
    identityProviderId: providerId,
    resource: 'platform',
    scopes: ['data:read'],
    scopeEdition: SCOPE_EDITION,
    payload: {},
    keyEpoch: system.system.auth?.keyEpoch ?? 'of the vendor',
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
  return made
}
