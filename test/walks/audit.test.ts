/** The audit trail: every action of the closed list leaves its row, for the eyes of the organization's admins alone. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import { eq } from '../../db/drizzle.ts'
import { deployments as deploymentRows, integrations, organizations, users } from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { createAppToken, revokeAppToken, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, removeAppMember, renameApp, setAppMember } from '../../src/contracts/apps.ts'
import { createCheck, removeCheck, runCheck, updateCheck } from '../../src/contracts/checks.ts'
import { setThreshold } from '../../src/contracts/evals.ts'
import { AUDIT_ACTIONS, listAudit, type AuditAction } from '../../src/contracts/audit.ts'
import {
  previewDataSource,
  SearchConfiguration,
  updateDataSource,
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
} from '../../src/contracts/data-sources.ts'
import {
  attachDatabase,
  createDatabase,
  removeDatabase,
  rotateConnectionString,
  showConnectionString,
} from '../../src/contracts/databases.ts'
import { createDocuments, undoDocuments } from '../../src/contracts/documents.ts'
import { recoverDeliveries, replayDelivery, retryDelivery } from '../../src/contracts/deliveries.ts'
import * as deployments from '../../src/contracts/deployments.ts'
import {
  blockOauthClient,
  narrowGrant,
  revokeGrant,
  setOauthClientActive,
} from '../../src/contracts/grants.ts'
import {
  addGroupMember,
  createGroup,
  removeGroup,
  removeGroupMember,
  renameGroup,
} from '../../src/contracts/groups.ts'
import * as identityProvider from '../../src/contracts/identity-provider.ts'
import {
  addMachineAgentCredential,
  createMachineAgent,
  removeMachineAgent,
  revokeMachineAgentCredential,
  rotateMachineAgentCredential,
  updateMachineAgent,
} from '../../src/contracts/machine-agents.ts'
import {
  beginChatInstall,
  beginChatLink,
  completeChatInstall,
  completeChatLink,
  connectEmail,
  connectWebhook,
  removeChatLink,
  removeIntegration,
  testIntegration,
  updateIntegration,
  verifyAddress,
} from '../../src/contracts/integrations.ts'
import { SESSION_ROTATION_GRACE_SECONDS } from '../../src/contracts/limits.ts'
import {
  startMaintenanceRun,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  removeMember,
  revokeInvitation,
} from '../../src/contracts/members.ts'
import {
  addOwnerAsOperator,
  createOrganization,
  createOrganizationAsOperator,
  setOrganizationDomains,
  removeOrganization,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { changePassword, updateProfile, whoAmI } from '../../src/contracts/people.ts'
import {
  createPipeline,
  removePipeline,
  startPipelineRun,
  updatePipeline,
} from '../../src/contracts/pipelines.ts'
import { approveProposal, denyProposal, retryProposal } from '../../src/contracts/proposals.ts'
import { ROLES } from '../../src/contracts/roles.ts'
import {
  createScimBearer,
  revokeScimBearer,
  rotateScimBearer,
  setGroupRole,
} from '../../src/contracts/scim.ts'
import {
  rotateSession,
  signInWithPassword,
  signOut,
  signOutEverywhere,
} from '../../src/contracts/sessions.ts'
import {
  createSubscription,
  deleteSubscription,
  setFollow,
  testSubscription,
  unsubscribe,
  updateSubscription,
} from '../../src/contracts/subscriptions.ts'
import { elevateSupportSession, endSupportSession, startSupportSession } from '../../src/contracts/support.ts'
import { createRemoteSecret, removeAppRemote, setAppRemote } from '../../src/contracts/remotes.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { cancelLoad, listLoads, startLoad, undoLoad } from '../../src/contracts/loads.ts'
import { createTicket, changeTicketStatus, replyToTicket } from '../../src/contracts/tickets.ts'
import { createApiToken, revokeApiToken, rotateApiToken } from '../../src/contracts/tokens.ts'
import { createTrailStream, removeTrailStream } from '../../src/contracts/trail.ts'
import { bindServiceAccount, unbindServiceAccount } from '../../src/contracts/workloads.ts'
import { signInWithProvider } from '../../src/cores/identity/sign-in-with-provider.ts'
import { endLost } from '../../src/cores/endings/index.ts'
import { mailboxOf, unsubscribeToken } from '../../src/cores/notifications/subscriptions/unsubscribe-token.ts'
import {
  newAssistant,
  startListeningSystem,
  preRegistered,
  type ListeningSystem,
} from '../support/assistant.ts'
import { giveDomain, insertScimBearer, patch, provision, type ScimOrg } from '../support/scim.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  addEnterpriseGrant,
  addProvider,
  makeOrgWithDomain,
  makeProvidedOrg,
} from '../support/identity-providers.ts'
import { makeIssuer } from '../support/issuer.ts'
import { fakeCluster } from '../support/fake-cluster.ts'
import { fakeChatApp, fakeChecks, fakeGitHosts, stateIn } from '../support/fake-integrations.ts'
import {
  configurationOf,
  entry,
  insertSource,
  placeForDatabases,
  startWithDatabases,
  toyModels,
} from '../support/data-sources.ts'
import { insertEval } from '../support/evals.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { invitation, linkIn, resetLink } from '../support/links.ts'
import { syncFiles } from '../support/documents.ts'
import { startFile, takeLoadSteps, uploadFile } from '../support/loads.ts'
import { makeRevision } from '../support/deployments.ts'
import { insertProposal } from '../support/insert-proposal.ts'
import { makeMachineAgent } from '../support/machine-agents.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { archiveOf } from '../support/source.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let system: ListeningSystem
let org: Org
let admin: Person
let member: Person

let place: Awaited<ReturnType<typeof placeForDatabases>>

let host: DocumentHost

const cluster = fakeCluster()

beforeAll(async () => {
  place = await placeForDatabases()
  host = await openDocumentHost()
  const env = {
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
    ATTACH_ALLOWED: '127.0.0.1',
    // Never asked: SCIM is set up at it.
    OIDC_ISSUER: 'https://idp.test',
    OIDC_CLIENT_ID: 'client',
    OIDC_CLIENT_SECRET: 'secret',
    PASSWORD_SIGN_IN: 'on',
    ...place.settings,
  }
  system = await startListeningSystem(env, {
    withMail: true,
    checks: fakeChecks,
    chatApp: fakeChatApp,
    gitHosts: fakeGitHosts,
    models: toyModels(),
    guardedFetch: host.guardedFetch,
    ...cluster.overrides,
  })
})

beforeEach(async () => {
  org = await makeOrganization(system)
  ;[admin, member] = [await makeMember(system, org, 'admin'), await makeMember(system, org, 'viewer')]
})

afterAll(async () => {
  await place.clear(system)
  await system.stop()
  await place.remove()
  host.close()
})

const read = async (
  filter: { action?: AuditAction; user_id?: string; search?: string; from?: string; to?: string } = {},
  { id, owner } = org,
) => (await owner.call(listAudit, { org_id: id, limit: 200, ...filter })).audit

/**
 * Who did it and what the row says about it; the organization is the one of the test unless told otherwise. Deeds at
 * the pages and endpoints of the authorization server name their requests themselves.
 */
type Deed = {
  by:
    | Person
    | { bearer: string }
    | 'operator'
    | 'an agent'
    | 'an unsubscribe link'
    | 'a verification link'
    | 'svc'
  subject?: string | null
  in?: Org
  namesItself?: boolean
}
/** Does the deed with calls that carry the request id given. */
type Act = (as: (who: { token: string; organization?: string }) => Call) => Promise<Deed>

const invited = async (email: string, to = org) => {
  const { id } = await to.owner.call(inviteMember, { org_id: to.id, email, role: 'developer' })
  const link = system.mails.findLast((mail) => mail.to === email)!.text
  return { id, secret: /invitation\/(\S+)/.exec(link)![1]! }
}

/** An agent of the member's. */
async function connected() {
  const assistant = newAssistant(system, await preRegistered(system))
  return { assistant, ...(await assistant.connect(member)) }
}

/** An app of the admin's, and a ticket of the member's on it. */
async function appWithTicket() {
  const alias = unique('app')
  await admin.call(createApp, { alias, name: 'Shop' })
  const { id } = await member.call(createTicket, { alias, title: 'It broke', body: 'Badly.' })
  return { alias, ticket_id: id, subject: `${alias}: ${id}` }
}

/** A revision that was deployed successfully, of an app of its own or of this one. */
async function deployed(of?: { alias: string; app: { orgId: string; id: string } }) {
  const alias = of?.alias ?? unique('app')
  const app = of?.app ?? {
    orgId: org.id,
    id: (await admin.call(createApp, { alias, name: 'Shop' })).id,
  }
  const revision_id = await makeRevision(system, app)
  const { id: deployment_id } = await admin.call(deployments.createDeployment, { alias, revision_id })
  const { fence } = await admin.call(deployments.claimDeployment, { alias, runner: 'runner' })
  await admin.call(deployments.finishDeployment, { alias, deployment_id, fence: fence!, exit_code: 0 })
  return { alias, app, revision_id, deployment_id }
}

/** A support session of somebody without an organization. */
async function visited() {
  const staff = await makePerson(system)
  const asked = { org: org.id, staff_email: staff.email, reason: 'They asked for help' }
  const { id } = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, asked)
  return { id, staff, there: { token: staff.token, organization: org.id } }
}

async function proposed(state: 'ready' | 'failed' = 'ready') {
  await admin.call(updateMaintenanceSettings, { org_id: org.id, enabled: true, model: 'rules' })
  const alias = unique('app')
  const { id } = await admin.call(createApp, { alias, name: 'Shop' })
  const proposal = await insertProposal(system, { orgId: org.id, id }, { state })
  return {
    asked: { alias, proposal_id: proposal.id, diff_sha256: proposal.diffSha256 },
    subject: `${alias}: ${proposal.id}`,
  }
}

async function appWithPipeline() {
  const { alias } = await appWithTicket()
  const { id } = await admin.call(createPipeline, { alias, name: 'nightly' })
  return { alias, pipeline_id: id }
}

/** A webhook of the organization's that is told of failed deployments. */
async function subscribed() {
  const connection = { name: 'Receiver', url: `https://hooks.test/${unique('in')}` }
  const { id: integration_id } = await admin.call(connectWebhook, connection)
  const { id } = await admin.call(createSubscription, { integration_id, pattern: 'deploy.failed' })
  return { integration_id, subscription_id: id }
}

/** An account of its own each time: it belongs to one person only. */
async function linkedBy(call: Call) {
  const { url } = await admin.call(beginChatInstall, {})
  await admin.call(completeChatInstall, { code: 'T1/#general', state: stateIn(url) })
  const link = await call(beginChatLink, {})
  await call(completeChatLink, { code: `T1/${unique('U')}/Ada`, state: stateIn(link.url) })
}

const REMOTE = { host: 'gitea', url: 'https://git.test/acme/shop', token: 'x' } as const

const LOGS_CHECK = { kind: 'logs', pattern: 'panic' } as const

const setMaintenance = (call: Call, settings: object) =>
  call(updateMaintenanceSettings, { org_id: org.id, model: 'rules', ...settings })

async function maintainedApp(): Promise<{ alias: string }> {
  const { alias } = await appWithTicket()
  await setMaintenance(admin.call, { enabled: true })
  await admin.call(updateAppMaintenance, { alias, enabled: true })
  return { alias }
}

/** An organization whose identity provider is on, with a client, and an agent of its owner's by it. */
async function provided() {
  const { org: at, provider } = await makeProvidedOrg(system, host)
  const { clientId: client_id } = await preRegistered(system)
  const terms = { max_scopes: ['data:read' as const], resources: ['platform' as const] }
  await at.owner.call(identityProvider.allowIdentityProviderClient, { client_id, ...terms })
  await addEnterpriseGrant(system, at, provider, at.owner, { clientId: client_id })
  return { at, by: at.owner, in: at, provider, client_id, terms }
}
const ONE_ENDED = '1 agent disconnected'

const LOADED = 'id,text\n1,one thing\n'
const LOADING = { table: 'things', id_column: 'id', embed_columns: ['text'], model: 'toy-3' }

/** No database is behind it. */
const sourceWithAccess = () => {
  const { connection_config, filter_schema } = SearchConfiguration.parse(configurationOf([entry('papers')]))
  return insertSource(system, org, {
    configuration: { connection_config, filter_schema, access_column: 'seen_by' },
  })
}

/** What the directory did to somebody whom it had provisioned. */
async function provisioned(
  act: (at: ScimOrg, person: { readonly id: string }) => Promise<unknown>,
): Promise<Deed> {
  const at = await insertScimBearer(system, org)
  const person = await provision(at)
  await act(at, person)
  return { by: { bearer: at.token }, subject: person.email, namesItself: true }
}

/** With an eval that has found enough to set a threshold from. */
const evaluatedSource = async () => {
  const configuration = SearchConfiguration.parse(configurationOf([entry('papers')]))
  const source = await insertSource(system, org, { configuration })
  return { ...source, evalId: await insertEval(system, org, source) }
}

/** A row for each, by type: an action that nobody can walk to does not compile. */
const DEEDS: Record<AuditAction, Act> = {
  'organization.created': async (as) => {
    const founded = await as(admin)(createOrganization, { name: unique('Founded') })
    return { by: admin, subject: founded.name, in: { ...founded, owner: admin } }
  },
  'organization.updated': async (as) => {
    const name = unique('Renamed')
    await as(org.owner)(updateOrganization, { org_id: org.id, name, admins_may_invite: true })
    return { by: org.owner, subject: `name: ${org.name} → ${name}; admins may invite` }
  },
  'organization.removed': async (as) => {
    const gone = await makeOrganization(system)
    await as(gone.owner)(removeOrganization, { org_id: gone.id, confirm: gone.name })
    // Nobody can read it any more: here again only for this test.
    await system.db
      .insert(organizations)
      .values({ id: gone.id, name: gone.name, slug: gone.slug, createdAt: system.clock.now() })
    await makeMember(system, gone, 'owner', gone.owner)
    return { by: gone.owner, subject: gone.name, in: gone }
  },
  'organization.domains_set': async (as) => {
    const domain = `${unique('corp')}.test`
    await as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
    return { by: 'operator', subject: domain }
  },
  'agents.switched_off': async (as) => {
    await as(admin)(updateOrganization, { org_id: org.id, agents_enabled: false })
    return { by: admin }
  },
  'agents.switched_on': async (as) => {
    await org.owner.call(updateOrganization, { org_id: org.id, agents_enabled: false })
    await as(admin)(updateOrganization, { org_id: org.id, agents_enabled: true })
    return { by: admin }
  },
  'owner.added': async (as) => {
    const { id, name, slug } = await system.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
      name: unique('Without'),
    })
    await as({ token: OPERATOR_TOKEN })(addOwnerAsOperator, { org_id: id, email: admin.email })
    return { by: 'operator', subject: admin.email, in: { id, name, slug, owner: admin } }
  },
  'member.joined': async (as) => {
    const domain = `${unique('corp')}.test`
    const person = await makePerson(system, { email: `${unique('person')}@${domain}` })
    await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
    await as({ token: '' })(signInWithPassword, { email: person.email, password: PASSWORD })
    return { by: person, subject: `through ${domain}` }
  },
  'member.role_changed': async (as) => {
    await as(admin)(changeMemberRole, { org_id: org.id, user_id: member.userId, role: 'developer' })
    return { by: admin, subject: `${member.email}: viewer → developer` }
  },
  'member.removed': async (as) => {
    await as(admin)(removeMember, { org_id: org.id, user_id: member.userId })
    return { by: admin, subject: member.email }
  },
  'member.left': async (as) => {
    await as(member)(removeMember, { org_id: org.id, user_id: member.userId })
    return { by: member, subject: member.email }
  },
  'scim.created': async (as) => {
    await giveDomain(system, org)
    await as(org.owner)(createScimBearer, { provider: 'oidc' })
    return { by: org.owner, subject: 'oidc: https://idp.test' }
  },
  'scim.rotated': async (as) => {
    await insertScimBearer(system, org)
    const { starts_with } = await as(org.owner)(rotateScimBearer, {})
    return { by: org.owner, subject: `SCIM bearer ${starts_with}…` }
  },
  'scim.revoked': async (as) => {
    const { token } = await insertScimBearer(system, org)
    await as(org.owner)(revokeScimBearer, {})
    return { by: org.owner, subject: `SCIM bearer ${token.slice(0, 11)}…; 0 members stay as they are` }
  },
  'scim.role_set': async (as) => {
    const { directory } = await insertScimBearer(system, org)
    const { body } = await directory('POST', '/Groups', { displayName: 'Engineers' })
    await as(org.owner)(setGroupRole, { group_id: body.id, role: 'developer' })
    return { by: org.owner, subject: 'Engineers: none → developer' }
  },
  'scim.person_created': () => provisioned(async () => {}),
  'scim.person_changed': () =>
    provisioned(({ directory }, { id }) =>
      directory('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'displayName', value: 'Ada' })),
    ),
  'scim.person_deactivated': () =>
    provisioned(({ directory }, { id }) =>
      directory('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false })),
    ),
  'scim.person_activated': () =>
    provisioned(async ({ directory }, { id }) => {
      for (const value of [false, true])
        await directory('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value }))
    }),
  'scim.person_deleted': () => provisioned(({ directory }, { id }) => directory('DELETE', `/Users/${id}`)),
  'scim.person_bound': async () => {
    const { email, externalId: subject } = await provision(await insertScimBearer(system, org))
    const shown = { provider: 'oidc', issuer: 'https://idp.test', subject, email, emailVerified: true }
    await signInWithProvider(
      system.system.auth!,
      { ...shown, name: 'Ada' },
      { device: 'a browser', requestId: unique('req') },
    )
    const [user] = await system.db.select().from(users).where(eq(users.email, email))
    return { by: { ...member, userId: user!.id, name: 'Ada' }, subject: email, namesItself: true }
  },
  'scim.owners_ended': async () => {
    const at = await insertScimBearer(system, org)
    const last = await makePerson(system, { email: `${unique('last')}@${at.domain}` })
    const { id } = await provision(at, { email: last.email })
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: last.userId, role: 'owner' })
    await last.call(changeMemberRole, { org_id: org.id, user_id: org.owner.userId, role: 'admin' })
    await at.directory('DELETE', `/Users/${id}`)
    return { by: { bearer: at.token }, subject: last.email, in: { ...org, owner: admin }, namesItself: true }
  },
  'invitation.created': async (as) => {
    const email = `${unique('new')}@people.test`
    await as(org.owner)(inviteMember, { org_id: org.id, email, role: 'admin' })
    return { by: org.owner, subject: `${email} as admin` }
  },
  'invitation.revoked': async (as) => {
    const email = `${unique('new')}@people.test`
    await as(org.owner)(revokeInvitation, { org_id: org.id, invitation_id: (await invited(email)).id })
    return { by: org.owner, subject: email }
  },
  'invitation.accepted': async (as) => {
    const person = await makePerson(system)
    await as(person)(acceptInvitation, { token: (await invited(person.email)).secret })
    return { by: person, subject: `${person.email} as developer` }
  },
  'member.joined_another': async (as) => {
    const person = await makeMember(system, org, 'viewer')
    const other = await makeOrganization(system)
    await as(person)(acceptInvitation, { token: (await invited(person.email, other)).secret })
    return { by: person, subject: other.name }
  },
  'token.created': async (as) => {
    const { name, starts_with } = await as(member)(createApiToken, { name: unique('token') })
    return { by: member, subject: `${name} (${starts_with}…)` }
  },
  'token.rotated': async (as) => {
    const { id, name } = await member.call(createApiToken, { name: unique('token') })
    const { starts_with } = await as(member)(rotateApiToken, { token_id: id })
    return { by: member, subject: `${name} (${starts_with}…)` }
  },
  'token.revoked': async (as) => {
    const { id, name, starts_with } = await member.call(createApiToken, { name: unique('token') })
    await as(admin)(revokeApiToken, { token_id: id })
    return { by: admin, subject: `${name} (${starts_with}…)` }
  },
  'session.started': async (as) => {
    await as({ token: '' })(signInWithPassword, { email: member.email, password: PASSWORD })
    return { by: member, subject: 'by password' }
  },
  'session.ended': async (as) => {
    await as(member)(signOut, { session_id: 'current' })
    return { by: member }
  },
  'session.all_ended': async (as) => {
    await as(member)(signOutEverywhere, {})
    return { by: member }
  },
  'session.reused': async (as) => {
    await member.call(rotateSession, {})
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS)
    await as(member)(whoAmI, {}).catch(() => undefined)
    return { by: member }
  },
  'password.changed': async (as) => {
    await as(member)(changePassword, { current_password: PASSWORD, new_password: 'another few words here' })
    return { by: member }
  },
  'access.ended': async (as) => {
    const since = system.clock.now().toISOString()
    await member.call(createApiToken, { name: unique('token') })
    await as(admin)(endAccessSince, { since, user_id: member.userId })
    return { by: admin, subject: `${member.email} since ${since}: 1 API token` }
  },
  'access.ended_again': async () => {
    const { id } = await member.call(createApiToken, { name: unique('token') })
    // Read from a journal after the database has lost the revocation.
    await endLost({ db: system.db, clock: () => system.clock.now() }, [
      { kind: 'api_token', orgId: org.id, id },
    ])
    return { by: 'svc', subject: `API token ${id}`, namesItself: true }
  },
  'profile.changed': async (as) => {
    const name = unique('renamed')
    await as(member)(updateProfile, { name })
    return { by: member, subject: `name: ${member.name} → ${name}` }
  },
  'profile.email_lost': async () => {
    const claimed = await makeMember(system, org, 'viewer', await makePerson(system, { verified: false }))
    const { email } = claimed
    const walker = newWalker(system)
    const page = await walker.open((await invitation(system, { email })).link)
    await walker.submit(page, 'Create account and join', { name: 'The Owner', password: PASSWORD })
    return { by: 'svc', subject: `${claimed.name}: ${email}`, namesItself: true }
  },
  'grant.created': async () => {
    await connected()
    return { by: member, subject: 'An assistant: data:read maintenance:read', namesItself: true }
  },
  'grant.narrowed': async (as) => {
    const { grantId } = await connected()
    await as(member)(narrowGrant, { grant_id: grantId, scopes: ['data:read'] })
    return { by: member, subject: 'An assistant: data:read' }
  },
  'grant.revoked': async (as) => {
    const { grantId } = await connected()
    await as(admin)(revokeGrant, { grant_id: grantId })
    return { by: admin, subject: 'An assistant' }
  },
  'grant.reused': async () => {
    const { assistant, refresh } = await connected()
    await assistant.refresh(refresh)
    system.clock.advance(61)
    await assistant.refresh(refresh)
    return { by: 'an agent', subject: 'An assistant', namesItself: true }
  },
  'machine_agent.created': async (as) => {
    const name = unique('nightly')
    await as(admin)(createMachineAgent, { name, role: 'developer', scopes: ['data:read'] })
    return { by: admin, subject: `${name} as developer: data:read` }
  },
  'machine_agent.changed': async (as) => {
    const { id, name } = await makeMachineAgent(admin)
    const change = { machine_agent_id: id, name: unique('hourly'), owner_id: org.owner.userId }
    await as(admin)(updateMachineAgent, change)
    return { by: admin, subject: `${name}: name ${change.name}, owner ${org.owner.email}` }
  },
  'machine_agent.credential_added': async (as) => {
    const { id, name } = await makeMachineAgent(admin)
    const { starts_with } = await as(admin)(addMachineAgentCredential, { machine_agent_id: id })
    return { by: admin, subject: `${name} (${starts_with}…)` }
  },
  'machine_agent.credential_rotated': async (as) => {
    const { id, name, credentials } = await makeMachineAgent(admin)
    const asked = { machine_agent_id: id, credential_id: credentials[0]!.id }
    const { starts_with } = await as(admin)(rotateMachineAgentCredential, asked)
    return { by: admin, subject: `${name} (${starts_with}…)` }
  },
  'machine_agent.credential_revoked': async (as) => {
    const { id, name, credentials } = await makeMachineAgent(admin)
    const [{ id: credential_id, starts_with }] = credentials as [(typeof credentials)[number]]
    await as(admin)(revokeMachineAgentCredential, { machine_agent_id: id, credential_id })
    return { by: admin, subject: `${name} (${starts_with}…)` }
  },
  'machine_agent.removed': async (as) => {
    const { id, name } = await makeMachineAgent(admin)
    await as(admin)(removeMachineAgent, { machine_agent_id: id })
    return { by: admin, subject: name }
  },
  'client.blocked': async (as) => {
    const client_id = unique('client')
    await as(admin)(blockOauthClient, { client_id, blocked: true })
    return { by: admin, subject: client_id }
  },
  'client.unblocked': async (as) => {
    const client_id = unique('client')
    await admin.call(blockOauthClient, { client_id, blocked: true })
    await as(admin)(blockOauthClient, { client_id, blocked: false })
    return { by: admin, subject: client_id }
  },
  'client.switched_off': async (as) => {
    const { clientId } = (await connected()).assistant
    await as({ token: OPERATOR_TOKEN })(setOauthClientActive, { client_id: clientId, is_active: false })
    return { by: 'operator', subject: clientId }
  },
  'client.switched_on': async (as) => {
    const { clientId } = (await connected()).assistant
    await system.as({ token: OPERATOR_TOKEN })(setOauthClientActive, {
      client_id: clientId,
      is_active: false,
    })
    await as({ token: OPERATOR_TOKEN })(setOauthClientActive, { client_id: clientId, is_active: true })
    return { by: 'operator', subject: clientId }
  },
  'identity_provider.created': async (as) => {
    const [at, { issuer }] = [await makeOrgWithDomain(system), await makeIssuer(system, host)]
    await as(at.owner)(identityProvider.createIdentityProvider, { name: 'Sign-in', issuer })
    return { by: at.owner, in: at, subject: `Sign-in: ${issuer}` }
  },
  'identity_provider.activated': async (as) => {
    const at = await makeOrgWithDomain(system)
    const provider = await addProvider(system, host, at)
    const assertion = await provider.assertionFor(at.owner)
    await as(at.owner)(identityProvider.activateIdentityProvider, { assertion })
    return { by: at.owner, in: at, subject: `Corporate sign-in: ${provider.issuer}` }
  },
  'identity_provider.changed': async (as) => {
    const { by, in: at } = await provided()
    const changes = { name: 'Renamed', default_scopes: [], is_required: true }
    await as(by)(identityProvider.updateIdentityProvider, changes)
    const subject = `name: Corporate sign-in → Renamed; default scopes: none; required; ${ONE_ENDED}`
    return { by, in: at, subject }
  },
  'identity_provider.paused': async (as) => {
    const { by, in: at } = await provided()
    await as(by)(identityProvider.updateIdentityProvider, { state: 'paused' })
    return { by, in: at, subject: `Corporate sign-in; ${ONE_ENDED}` }
  },
  'identity_provider.resumed': async (as) => {
    const { by, in: at } = await provided()
    await by.call(identityProvider.updateIdentityProvider, { state: 'paused' })
    await as(by)(identityProvider.updateIdentityProvider, { state: 'on' })
    return { by, in: at, subject: 'Corporate sign-in' }
  },
  'identity_provider.moved': async (as) => {
    const { in: at, provider } = await provided()
    const { issuer } = provider
    await as({ token: OPERATOR_TOKEN })(identityProvider.moveIdentityProvider, { issuer })
    return { by: 'operator', in: at, subject: `Corporate sign-in: ${issuer}; ${ONE_ENDED}` }
  },
  'identity_provider.removed': async (as) => {
    const { by, in: at, provider } = await provided()
    await as(by)(identityProvider.deleteIdentityProvider, {})
    return { by, in: at, subject: `Corporate sign-in: ${provider.issuer}; ${ONE_ENDED}` }
  },
  'identity_provider.client_created': async (as) => {
    const { by, in: at, terms } = await provided()
    await as(by)(identityProvider.createIdentityProviderClient, { name: 'Claude', ...terms })
    return { by, in: at, subject: 'Claude: data:read at platform' }
  },
  'identity_provider.client_allowed': async (as) => {
    const { by, in: at, terms } = await provided()
    const { clientId: client_id } = await preRegistered(system)
    await as(by)(identityProvider.allowIdentityProviderClient, { client_id, ...terms })
    return { by, in: at, subject: 'An assistant: data:read at platform' }
  },
  'identity_provider.client_forbidden': async (as) => {
    const { by, in: at, client_id } = await provided()
    await as(by)(identityProvider.forbidIdentityProviderClient, { client_id })
    return { by, in: at, subject: `An assistant; ${ONE_ENDED}` }
  },
  'identity_provider.rules_set': async (as) => {
    const { by, in: at } = await provided()
    const rules = [{ claim: null, value: null, scopes: ['data:read' as const] }]
    await as(by)(identityProvider.setIdentityProviderRules, { rules })
    return { by, in: at, subject: `1 rule; ${ONE_ENDED}` }
  },
  'identity_provider.grants_ended': async (as) => {
    const { by, in: at } = await provided()
    await as(by)(identityProvider.endEnterpriseGrants, {})
    return { by, in: at, subject: `Corporate sign-in; ${ONE_ENDED}` }
  },
  'identity_link.created': async (as) => {
    const { by, in: at } = await provided()
    const subject = unique('subject')
    await as(by)(identityProvider.linkIdentity, { subject, user_id: by.userId })
    return { by, in: at, subject: `${subject}: ${by.email}` }
  },
  'identity_link.removed': async (as) => {
    const { by, in: at, provider } = await provided()
    const { links } = await by.call(identityProvider.listIdentityLinks, {})
    await as(by)(identityProvider.unlinkIdentity, { link_id: links[0]!.id })
    return { by, in: at, subject: `${provider.subjectOf(by)}: ${by.email}; ${ONE_ENDED}` }
  },
  'database.created': async (as) => {
    await as(admin)(createDatabase, { name: 'made' })
    return { by: admin, subject: 'db_made' }
  },
  'database.attached': async (as) => {
    const elsewhere = await startWithDatabases({ MANAGED_DATABASE_URL: 'embedded' })
    const { owner } = await makeOrganization(elsewhere)
    await owner.call(createDatabase, { name: 'theirs' })
    const { url } = await owner.call(showConnectionString, { name: 'theirs' })
    await as(admin)(attachDatabase, { name: 'adopted', url })
    await elsewhere.stop()
    return { by: admin, subject: 'db_adopted' }
  },
  'database.removed': async (as) => {
    const { name, sourceId } = await insertSource(system, org)
    await as(admin)(removeDatabase, { name, confirm: name })
    return { by: admin, subject: sourceId }
  },
  'database.connection_shown': async (as) => {
    await admin.call(createDatabase, { name: 'opened' })
    await as(admin)(showConnectionString, { name: 'opened' })
    return { by: admin, subject: 'db_opened' }
  },
  'database.rotated': async (as) => {
    await admin.call(createDatabase, { name: 'rotated' })
    await as(admin)(rotateConnectionString, { name: 'rotated' })
    return { by: admin, subject: 'db_rotated' }
  },
  'load.started': async (as) => {
    await admin.call(createDatabase, { name: 'filled' })
    const { id } = await uploadFile(admin.call, 'filled', LOADED)
    await as(admin)(startLoad, { load_id: id, ...LOADING })
    return { by: admin, subject: 'file.csv into db_filled, table things' }
  },
  'load.succeeded': async (as) => {
    await admin.call(createDatabase, { name: 'succeeding' })
    await startFile(as(admin), 'succeeding', LOADED, LOADING)
    await takeLoadSteps(system)
    return { by: admin, subject: 'file.csv into db_succeeding, table things' }
  },
  'load.failed': async (as) => {
    await admin.call(createDatabase, { name: 'failing' })
    await startFile(as(admin), 'failing', `${LOADED}1,twice\n`, LOADING)
    await takeLoadSteps(system)
    return { by: admin, subject: 'file.csv into db_failing, table things' }
  },
  'load.canceled': async (as) => {
    await admin.call(createDatabase, { name: 'canceled' })
    const { id } = await uploadFile(admin.call, 'canceled', LOADED)
    await as(admin)(cancelLoad, { load_id: id })
    return { by: admin, subject: 'file.csv in db_canceled' }
  },
  'load.undone': async (as) => {
    await admin.call(createDatabase, { name: 'undoing' })
    for (const [text, replace] of [
      ['one', false],
      ['two', true],
    ] as const) {
      await startFile(admin.call, 'undoing', `id,text\n1,${text}\n`, { ...LOADING, replace })
      await takeLoadSteps(system)
    }
    const { loads: listed } = await admin.call(listLoads, { name: 'undoing' })
    await as(admin)(undoLoad, { load_id: listed[0]!.id })
    return { by: admin, subject: 'file.csv in db_undoing, table things' }
  },
  'documents.undone': async (as) => {
    await admin.call(createDocuments, { name: 'papers', model: 'toy-3' })
    for (const text of ['one', 'two']) await syncFiles(system, admin.call, 'papers', { 'a.txt': text })
    await as(admin)(undoDocuments, { name: 'papers', version: 2 })
    return { by: admin, subject: 'db_papers, version 2' }
  },
  'data_source.configured': async (as) => {
    const { sourceId } = await insertSource(system, org)
    await as(admin)(saveSearchConfiguration, { source_id: sourceId, ...configurationOf([]) })
    return { by: admin, subject: sourceId }
  },
  'data_source.access_set': async (as) => {
    const { sourceId } = await sourceWithAccess()
    await as(admin)(saveSearchConfiguration, {
      source_id: sourceId,
      ...configurationOf([]),
      access_column: 'seen',
    })
    return { by: admin, subject: `${sourceId}: seen` }
  },
  'data_source.access_removed': async (as) => {
    const { sourceId } = await sourceWithAccess()
    await as(admin)(saveSearchConfiguration, {
      source_id: sourceId,
      ...configurationOf([]),
      access_column: null,
    })
    return { by: admin, subject: `${sourceId}: seen_by` }
  },
  'data_source.previewed': async (as) => {
    const { sourceId } = await sourceWithAccess()
    // Recorded before any row is read: there is no database behind it.
    await as(admin)(previewDataSource, { source_id: sourceId, member_id: member.userId }).catch(() => {})
    return { by: admin, subject: `${sourceId} as ${member.email}` }
  },
  'data_source.threshold_set': async (as) => {
    const { sourceId, evalId } = await evaluatedSource()
    await as(admin)(setThreshold, { source_id: sourceId, eval_id: evalId })
    return { by: admin, subject: sourceId }
  },
  'data_source.threshold_removed': async (as) => {
    const { sourceId, evalId } = await evaluatedSource()
    await as(admin)(setThreshold, { source_id: sourceId, eval_id: evalId })
    await as(admin)(setThreshold, { source_id: sourceId, eval_id: null })
    return { by: admin, subject: sourceId }
  },
  'trail_stream.created': async (as) => {
    await as(org.owner)(createTrailStream, {
      kind: 'webhook',
      url: `https://siem.test/${unique('path')}`,
    })
    return { by: org.owner, subject: 'webhook at siem.test' }
  },
  'trail_stream.removed': async (as) => {
    const url = `https://siem.test/${unique('path')}`
    const { id: stream_id } = await org.owner.call(createTrailStream, { kind: 'otlp', url })
    await as(org.owner)(removeTrailStream, { stream_id })
    return { by: org.owner, subject: 'otlp at siem.test' }
  },
  'group.created': async (as) => {
    const name = unique('group')
    await as(admin)(createGroup, { name })
    return { by: admin, subject: name }
  },
  'group.renamed': async (as) => {
    const { id: group_id, name } = await admin.call(createGroup, { name: unique('group') })
    await as(admin)(renameGroup, { group_id, name: `${name} anew` })
    return { by: admin, subject: `${name} to ${name} anew` }
  },
  'group.removed': async (as) => {
    const { id: group_id, name } = await admin.call(createGroup, { name: unique('group') })
    await as(admin)(removeGroup, { group_id })
    return { by: admin, subject: name }
  },
  'group.member_added': async (as) => {
    const { id: group_id, name } = await admin.call(createGroup, { name: unique('group') })
    await as(admin)(addGroupMember, { group_id, member_id: member.userId })
    return { by: admin, subject: `${name}: ${member.email}` }
  },
  'group.member_removed': async (as) => {
    const { id: group_id, name } = await admin.call(createGroup, { name: unique('group') })
    await admin.call(addGroupMember, { group_id, member_id: member.userId })
    await as(admin)(removeGroupMember, { group_id, member_id: member.userId })
    return { by: admin, subject: `${name}: ${member.email}` }
  },
  'data_source.described': async (as) => {
    const { id, sourceId } = await insertSource(system, org)
    await as(admin)(updateDataSource, { source_id: id, description: 'What is in it.' })
    return { by: admin, subject: sourceId }
  },
  'data_source.switched_on': async (as) => {
    const { id, sourceId } = await insertSource(system, org)
    await as(admin)(setDataSourceState, { source_id: id, enabled: true })
    return { by: admin, subject: sourceId }
  },
  'data_source.switched_off': async (as) => {
    const { id, sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    await as(admin)(setDataSourceState, { source_id: id, enabled: false })
    return { by: admin, subject: sourceId }
  },
  'data_source.exposed': async (as) => {
    const { id, sourceId } = await insertSource(system, org, { enabled: true })
    await as(admin)(setDataSourceExposure, { source_id: id, exposed: true, minimum_role: 'developer' })
    return { by: admin, subject: `${sourceId} to developer` }
  },
  'data_source.hidden': async (as) => {
    const { id, sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    await as(admin)(setDataSourceExposure, { source_id: id, exposed: false })
    return { by: admin, subject: sourceId }
  },
  'app.created': async (as) => {
    const alias = unique('app')
    await as(admin)(createApp, { alias, name: 'Shop' })
    return { by: admin, subject: alias }
  },
  'app.renamed': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(renameApp, { alias, name: 'Store' })
    return { by: admin, subject: `${alias}: Shop → Store` }
  },
  'app.member_set': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(setAppMember, { alias, user_id: member.userId, role: 'builder' })
    return { by: admin, subject: `${alias}: ${member.email} as builder` }
  },
  'app.member_removed': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(removeAppMember, { alias, user_id: admin.userId })
    return { by: admin, subject: `${alias}: ${admin.email}` }
  },
  'app.token_created': async (as) => {
    const { alias } = await appWithTicket()
    const made = await as(admin)(createAppToken, { alias, name: 'collector', scope: 'apps:report' })
    return { by: admin, subject: `${alias}: collector (${made.starts_with}…)` }
  },
  'app.token_rotated': async (as) => {
    const { alias } = await appWithTicket()
    const made = await admin.call(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
    const { starts_with } = await as(admin)(rotateAppToken, { alias, token_id: made.id })
    return { by: admin, subject: `${alias}: runner (${starts_with}…)` }
  },
  'app.token_revoked': async (as) => {
    const { alias } = await appWithTicket()
    const made = await as(admin)(createAppToken, { alias, name: 'runner', scope: 'apps:run' })
    await as(admin)(revokeAppToken, { alias, token_id: made.id })
    return { by: admin, subject: `${alias}: runner (${made.starts_with}…)` }
  },
  'app.service_account_bound': async (as) => {
    const { alias } = await appWithTicket()
    const account = cluster.addAccount(org.id, 'worker')
    await as(admin)(bindServiceAccount, { alias, ...account })
    return { by: admin, subject: `${alias}: ${account.namespace}/worker` }
  },
  'app.service_account_unbound': async (as) => {
    const { alias } = await appWithTicket()
    const account = cluster.addAccount(org.id, 'worker')
    const { id: binding_id } = await admin.call(bindServiceAccount, { alias, ...account })
    await as(admin)(unbindServiceAccount, { alias, binding_id })
    return { by: admin, subject: `${alias}: ${account.namespace}/worker` }
  },
  'app.remote_set': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(setAppRemote, { alias, ...REMOTE })
    return { by: admin, subject: `${alias}: ${REMOTE.url}` }
  },
  'app.remote_removed': async (as) => {
    const { alias } = await appWithTicket()
    await admin.call(setAppRemote, { alias, ...REMOTE })
    await as(admin)(removeAppRemote, { alias })
    return { by: admin, subject: `${alias}: ${REMOTE.url}` }
  },
  'app.remote_secret_made': async (as) => {
    const { alias } = await appWithTicket()
    await admin.call(setAppRemote, { alias, ...REMOTE })
    await as(admin)(createRemoteSecret, { alias })
    return { by: admin, subject: `${alias}: ${REMOTE.url}` }
  },
  'revision.pushed': async (as) => {
    const { alias } = await appWithTicket()
    const { id } = await as(admin)(pushRevision, { alias, body: archiveOf({ 'main.js': 'x\n' }) })
    return { by: admin, subject: `${alias}: ${id}` }
  },
  'deployment.requested': async (as) => {
    const { alias, revision_id } = await deployed()
    const { id } = await as(admin)(deployments.createDeployment, { alias, revision_id })
    return { by: admin, subject: `${alias}: ${id}, ${revision_id}` }
  },
  'deployment.rolled_back': async (as) => {
    const { alias, revision_id, app } = await deployed()
    await deployed({ alias, app })
    const { id } = await as(admin)(deployments.rollBackDeployment, { alias })
    return { by: admin, subject: `${alias}: ${id}, ${revision_id}` }
  },
  'deployment.cancelled': async (as) => {
    const { alias, revision_id } = await deployed()
    const { id } = await admin.call(deployments.createDeployment, { alias, revision_id })
    await as(admin)(deployments.cancelDeployment, { alias, deployment_id: id })
    return { by: admin, subject: `${alias}: ${id}` }
  },
  'deployment.ended_confirmed': async (as) => {
    const { alias, deployment_id } = await deployed()
    await system.db
      .update(deploymentRows)
      .set({ state: 'failed', code: 'RUNNER_LOST', releasedAt: null })
      .where(eq(deploymentRows.id, deployment_id))
    await as(admin)(deployments.confirmDeploymentEnded, { alias, deployment_id })
    return { by: admin, subject: `${alias}: ${deployment_id}` }
  },
  'deployment.reported_broken': async (as) => {
    const { alias, deployment_id } = await deployed()
    await as(admin)(deployments.reportBrokenRollout, { alias, deployment_id })
    return { by: admin, subject: `${alias}: ${deployment_id}` }
  },
  'proposal.approved': async (as) => {
    const { asked, subject } = await proposed()
    await as(admin)(approveProposal, asked)
    return { by: admin, subject }
  },
  'proposal.denied': async (as) => {
    const { asked, subject } = await proposed()
    await as(admin)(denyProposal, asked)
    return { by: admin, subject }
  },
  'proposal.retried': async (as) => {
    const { asked, subject } = await proposed('failed')
    await as(admin)(retryProposal, asked)
    return { by: admin, subject }
  },
  'pipeline.created': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(createPipeline, { alias, name: 'nightly', cron: '0 3 * * *' })
    return { by: admin, subject: `${alias}: nightly` }
  },
  'pipeline.changed': async (as) => {
    const path = await appWithPipeline()
    await as(admin)(updatePipeline, { ...path, cron: '0 4 * * *', enabled: false })
    return { by: admin, subject: `${path.alias}: nightly (schedule, enabled)` }
  },
  'pipeline.removed': async (as) => {
    const path = await appWithPipeline()
    await as(admin)(removePipeline, path)
    return { by: admin, subject: `${path.alias}: nightly` }
  },
  'pipeline.run_started': async (as) => {
    const path = await appWithPipeline()
    await as(admin)(startPipelineRun, path)
    return { by: admin, subject: `${path.alias}: nightly` }
  },
  'ticket.filed': async (as) => {
    const { alias } = await appWithTicket()
    const { id } = await as(member)(createTicket, { alias, title: 'Again', body: 'It broke again.' })
    return { by: member, subject: `${alias}: ${id}` }
  },
  'ticket.replied': async (as) => {
    const { subject, ...ticket } = await appWithTicket()
    await as(member)(replyToTicket, { ...ticket, body: 'And?' })
    return { by: member, subject }
  },
  'ticket.noted': async (as) => {
    const { subject, ...ticket } = await appWithTicket()
    await as(admin)(replyToTicket, { ...ticket, body: 'Hm.', internal: true })
    return { by: admin, subject }
  },
  'ticket.moved': async (as) => {
    const { subject, ...ticket } = await appWithTicket()
    await as(admin)(changeTicketStatus, { ...ticket, status: 'in_progress' })
    return { by: admin, subject: `${subject}, open → in_progress` }
  },
  'check.created': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(createCheck, { alias, name: 'Health', definition: LOGS_CHECK })
    return { by: admin, subject: `${alias}: Health` }
  },
  'check.changed': async (as) => {
    const { alias } = await appWithTicket()
    const { id: check_id } = await admin.call(createCheck, { alias, name: 'Health', definition: LOGS_CHECK })
    await as(admin)(updateCheck, { alias, check_id, enabled: false })
    return { by: admin, subject: `${alias}: Health` }
  },
  'check.removed': async (as) => {
    const { alias } = await appWithTicket()
    const { id: check_id } = await admin.call(createCheck, { alias, name: 'Health', definition: LOGS_CHECK })
    await as(admin)(removeCheck, { alias, check_id })
    return { by: admin, subject: `${alias}: Health` }
  },
  'check.run_started': async (as) => {
    const { alias } = await appWithTicket()
    const { id: check_id } = await admin.call(createCheck, { alias, name: 'Health', definition: LOGS_CHECK })
    await as(admin)(runCheck, { alias, check_id })
    return { by: admin, subject: `${alias}: Health` }
  },
  'maintenance.switched_on': async (as) => {
    await setMaintenance(admin.call, { enabled: false })
    await setMaintenance(as(admin), { enabled: true })
    return { by: admin }
  },
  'maintenance.switched_off': async (as) => {
    await setMaintenance(admin.call, { enabled: true })
    await setMaintenance(as(admin), { enabled: false })
    return { by: admin }
  },
  'maintenance.changed': async (as) => {
    await setMaintenance(admin.call, { enabled: true, cooldown_hours: 24 })
    await setMaintenance(as(admin), { cooldown_hours: 2, protected_paths: ['billing/**'] })
    return { by: admin, subject: 'cooldown_hours: 24 → 2, protected_paths added: billing/**' }
  },
  'maintenance.app_switched_on': async (as) => {
    const { alias } = await appWithTicket()
    await setMaintenance(admin.call, { enabled: true })
    await as(admin)(updateAppMaintenance, { alias, enabled: true })
    return { by: admin, subject: alias }
  },
  'maintenance.app_switched_off': async (as) => {
    const { alias } = await maintainedApp()
    await as(admin)(updateAppMaintenance, { alias, enabled: false })
    return { by: admin, subject: alias }
  },
  'maintenance.run_started': async (as) => {
    const { alias } = await maintainedApp()
    const { execution_id } = await as(admin)(startMaintenanceRun, { alias })
    return { by: admin, subject: `${alias}: ${execution_id}` }
  },
  'support.started': async (as) => {
    const { email } = await makePerson(system)
    const asked = { org: org.slug, staff_email: email, reason: 'They asked for help' }
    await as({ token: OPERATOR_TOKEN })(startSupportSession, asked)
    return { by: 'operator', subject: `${email}: They asked for help` }
  },
  'support.elevated': async (as) => {
    const { id, staff, there } = await visited()
    await as(there)(elevateSupportSession, { support_session_id: id, reason: 'To repair it' })
    return { by: staff, subject: `${staff.email}: To repair it` }
  },
  'support.ended': async (as) => {
    const { id } = await visited()
    await as(org.owner)(endSupportSession, { support_session_id: id })
    return { by: org.owner, subject: id }
  },
  'support.switched_off': async (as) => {
    await as(org.owner)(updateOrganization, { org_id: org.id, support_access_enabled: false })
    return { by: org.owner }
  },
  'support.switched_on': async (as) => {
    await org.owner.call(updateOrganization, { org_id: org.id, support_access_enabled: false })
    await as(org.owner)(updateOrganization, { org_id: org.id, support_access_enabled: true })
    return { by: org.owner }
  },
  'integration.connected': async (as) => {
    await as(admin)(connectWebhook, { name: 'Receiver', url: 'https://hooks.test/in' })
    return { by: admin, subject: 'Receiver' }
  },
  'integration.verified': async (as) => {
    const address = `${unique('desk')}@people.test`
    const { name } = await admin.call(connectEmail, { address })
    const mail = system.mails.findLast(({ to }) => to === address)!
    const token = linkIn(mail.text).split('/').at(-1)!
    await as({ token: '' })(verifyAddress, { token })
    return { by: 'a verification link', subject: name }
  },
  'integration.changed': async (as) => {
    const { integration_id } = await subscribed()
    await as(admin)(updateIntegration, { integration_id, name: 'Renamed' })
    return { by: admin, subject: 'Renamed' }
  },
  'integration.removed': async (as) => {
    const { integration_id } = await subscribed()
    await as(admin)(removeIntegration, { integration_id })
    return { by: admin, subject: 'Receiver' }
  },
  'subscription.created': async (as) => {
    const { integration_id } = await subscribed()
    await as(admin)(createSubscription, { integration_id, pattern: 'deploy.*' })
    return { by: admin, subject: 'deploy.* to Receiver' }
  },
  'subscription.changed': async (as) => {
    const { subscription_id } = await subscribed()
    await as(admin)(updateSubscription, { subscription_id, enabled: false })
    return { by: admin, subject: 'deploy.failed to Receiver' }
  },
  'subscription.deleted': async (as) => {
    const { subscription_id } = await subscribed()
    await as(admin)(deleteSubscription, { subscription_id })
    return { by: admin, subject: 'deploy.failed to Receiver' }
  },
  'subscription.tested': async (as) => {
    const { subscription_id } = await subscribed()
    await as(admin)(testSubscription, { subscription_id })
    return { by: admin, subject: 'deploy.failed to Receiver' }
  },
  'integration.tested': async (as) => {
    const { integration_id } = await subscribed()
    await as(admin)(testIntegration, { integration_id })
    return { by: admin, subject: 'Receiver' }
  },
  'subscription.unsubscribed': async (as) => {
    const { subscription_id: subscriptionId, integration_id } = await subscribed()
    const key = system.system.gateway!.dataKeys.keyFor('unsubscribe')
    const [row] = await system.db.select().from(integrations).where(eq(integrations.id, integration_id))
    const mailbox = mailboxOf(row!.digest)
    const token = unsubscribeToken(key, { orgId: org.id, subscriptionId, mailbox })
    await as({ token: '' })(unsubscribe, { token })
    return { by: 'an unsubscribe link', subject: 'deploy.failed' }
  },
  'follow.changed': async (as) => {
    const { alias } = await appWithTicket()
    await as(admin)(setFollow, { alias, categories: ['Tickets', 'Checks'] })
    return { by: admin, subject: `${alias}: Checks, Tickets` }
  },
  'chat.linked': async (as) => {
    await linkedBy(as(member))
    return { by: member, subject: 'Team T1' }
  },
  'chat.unlinked': async (as) => {
    await linkedBy(member.call)
    await as(member)(removeChatLink, {})
    return { by: member, subject: 'Team T1' }
  },
  'delivery.replayed': async (as) => {
    const { integration_id: integrationId, subscription_id: subscriptionId } = await subscribed()
    const { id } = await insertDelivery(system, org, { integrationId, subscriptionId })
    await as(admin)(replayDelivery, { delivery_id: id })
    return { by: admin, subject: id }
  },
  'delivery.retried': async (as) => {
    const { integration_id: integrationId, subscription_id: subscriptionId } = await subscribed()
    const waiting = { integrationId, subscriptionId, state: 'waiting' as const, settledAt: null }
    const { id } = await insertDelivery(system, org, waiting, [])
    await as(admin)(retryDelivery, { delivery_id: id })
    return { by: admin, subject: id }
  },
  'delivery.recovered': async (as) => {
    const { integration_id } = await subscribed()
    const since = '2026-01-01T00:00:00Z'
    await as(admin)(recoverDeliveries, { integration_id, since })
    return { by: admin, subject: `Receiver since ${since}` }
  },
}

describe.each(Object.keys(AUDIT_ACTIONS) as AuditAction[])('%s', (action) => {
  test('leaves one row that says who, what and in which request', async () => {
    const requestId = unique('request')
    const {
      by,
      subject = null,
      in: where = org,
      namesItself = false,
    } = await DEEDS[action](({ token, organization }) => system.as({ token, organization, requestId }))
    const rows = (await read({ action }, where)).filter(
      ({ request_id }) => namesItself || request_id === requestId,
    )
    const actor =
      by === 'operator'
        ? { kind: 'operator', id: null, name: 'operator' }
        : typeof by === 'string'
          ? { kind: 'system', id: null, name: by }
          : 'bearer' in by
            ? { kind: 'scim_bearer', id: null, name: `SCIM bearer ${by.bearer.slice(0, 11)}…` }
            : { kind: 'user', id: by.userId, name: by.name }
    const request_id = namesItself ? expect.any(String) : requestId
    expect(rows).toMatchObject([{ action, actor, subject, request_id }])
    expect(Math.abs(Date.parse(rows[0]!.at) - system.clock.now().getTime())).toBeLessThan(60_000)
  })
})

test('what somebody did by an API token or as the operator is told apart', async () => {
  const token = await makeApiToken(system, org, admin)
  await token.call(updateOrganization, { org_id: org.id, agents_enabled: false })
  const [row] = await read({ action: 'agents.switched_off' })
  expect(row?.actor).toEqual({ kind: 'api_token', id: admin.userId, name: admin.name })

  const opened = await system.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
    name: unique('Opened'),
    admin_email: org.owner.email,
  })
  const [created] = await read({ action: 'organization.created' }, { ...opened, owner: org.owner })
  expect(created?.actor.kind).toBe('operator')
})

test('a password chosen by a mailed link is told too, where the person works', async () => {
  const walker = newWalker(system)
  const page = await walker.open(await resetLink(system, member.email))
  expect((await walker.submit(page, 'Save', { password: 'another few words here' })).status).toBe(200)
  expect(await read({ action: 'password.changed' })).toMatchObject([{ actor: { id: member.userId } }])
})

test('what was refused, and what changed nothing, leaves no row', async () => {
  const before = await read()
  await expect(member.call(updateOrganization, { org_id: org.id, name: 'Mine' })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  await expect(
    admin.call(changeMemberRole, { org_id: org.id, user_id: org.owner.userId, role: 'viewer' }),
  ).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await admin.call(changeMemberRole, { org_id: org.id, user_id: member.userId, role: 'viewer' })
  await admin.call(updateOrganization, { org_id: org.id, name: org.name, agents_enabled: true })
  const { id: source_id } = await insertSource(system, org, {
    enabled: true,
    exposed: true,
    description: 'x',
  })
  await admin.call(setDataSourceState, { source_id, enabled: true })
  await admin.call(setDataSourceExposure, { source_id, exposed: true, minimum_role: 'viewer' })
  await admin.call(updateDataSource, { source_id, description: 'x' })
  await member.call(updateProfile, { name: member.name })
  await expect(member.call(setDataSourceExposure, { source_id, exposed: false })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  expect(await read()).toEqual(before)
})

test.each(ROLES)('may be read by a %s or not', async (role) => {
  const { call } = await makeMember(system, org, role)
  const attempt = call(listAudit, { org_id: org.id })
  if (role === 'owner' || role === 'admin') expect((await attempt).audit.length).toBeGreaterThan(0)
  else await expect(attempt).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

describe('filters', () => {
  beforeEach(async () => {
    for (const { call } of [admin, member]) {
      system.clock.advance(10)
      await call(createApiToken, { name: unique('token') })
    }
  })

  test('by action and by person', async () => {
    expect((await read({ action: 'token.created' })).map(({ actor }) => actor.id)).toEqual([
      member.userId,
      admin.userId,
    ])
    const mine = await read({ user_id: admin.userId })
    expect(mine).toMatchObject([{ action: 'token.created', actor: { id: admin.userId } }])
    expect(await read({ user_id: admin.userId, action: 'member.left' })).toEqual([])
  })

  test('by text: of what was done, its subject, who did it, or the request; wildcards are letters', async () => {
    const [later, earlier] = await read({ action: 'token.created' })
    const ids = async (search: string) => (await read({ search })).map(({ id }) => id)
    expect(await ids(later!.subject!.slice(2).toUpperCase())).toEqual([later!.id])
    expect(await ids(earlier!.request_id!.slice(-12))).toEqual([earlier!.id])
    expect(await ids('Created an API')).toEqual([later!.id, earlier!.id])
    expect(await ids(admin.name)).toContain(earlier!.id)
    expect(await ids('%')).toEqual([])
    expect((await read({ search: '  ' })).length).toBeGreaterThan(2)
    expect((await read({ search: later!.subject! }, await makeOrganization(system))).length).toBe(0)
  })

  test('by time: from is included, to is not', async () => {
    const [later, earlier] = await read({ action: 'token.created' })
    const ids = async (filter: { from?: string; to?: string }) =>
      (await read({ action: 'token.created', ...filter })).map(({ id }) => id)
    expect(await ids({ from: later!.at })).toEqual([later!.id])
    expect(await ids({ to: later!.at })).toEqual([earlier!.id])
    expect(await ids({ from: earlier!.at, to: later!.at })).toEqual([earlier!.id])
    expect(await ids({ from: later!.at, to: earlier!.at })).toEqual([])
  })
})

test('another organization reads nothing of it, also about a person who belongs to both', async () => {
  const other = await makeOrganization(system)
  await makeMember(system, other, 'admin', admin)
  await admin.call(createApiToken, { name: unique('token') })
  await expect(other.owner.call(listAudit, { org_id: org.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await read({ user_id: admin.userId }, other)).toEqual([])
  const here = new Set((await read()).map(({ id }) => id))
  expect((await read({}, other)).filter(({ id }) => here.has(id))).toEqual([])
})

test('a session that ends after a removal is told to the organization that is left, not to the old one', async () => {
  const kept = await makeOrganization(system)
  await makeMember(system, kept, 'viewer', member)
  const { call } = await signedIn(system, member.email)
  await org.owner.call(removeMember, { org_id: org.id, user_id: member.userId })
  await call(signOut, { session_id: 'current' })
  expect(await read({ action: 'session.ended' })).toEqual([])
  expect(await read({ action: 'session.ended' }, kept)).toMatchObject([{ actor: { id: member.userId } }])
})
