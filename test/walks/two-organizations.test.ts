/**
 * Two organizations that share people, an address, a client, a chat account, and the names of everything: every write in
 * one of them leaves the rows of the other as they were.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { TABLE_KINDS } from '../../db/table-kinds.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { reportToolCall } from '../../src/contracts/activity.ts'
import { sendAppEvent } from '../../src/contracts/app-events.ts'
import * as appTokens from '../../src/contracts/app-tokens.ts'
import * as apps from '../../src/contracts/apps.ts'
import * as checks from '../../src/contracts/checks.ts'
import * as sources from '../../src/contracts/data-sources.ts'
import * as databases from '../../src/contracts/databases.ts'
import {
  recoverDeliveries,
  replayDelivery,
  replayFailedDeliveries,
  retryDelivery,
} from '../../src/contracts/deliveries.ts'
import * as deployments from '../../src/contracts/deployments.ts'
import * as grants from '../../src/contracts/grants.ts'
import * as scim from '../../src/contracts/scim.ts'
import * as groups from '../../src/contracts/groups.ts'
import * as identityProvider from '../../src/contracts/identity-provider.ts'
import { acknowledgeNotification } from '../../src/contracts/inbox.ts'
import * as integrations from '../../src/contracts/integrations.ts'
import * as documents from '../../src/contracts/documents.ts'
import * as loads from '../../src/contracts/loads.ts'
import * as logs from '../../src/contracts/logs.ts'
import * as machines from '../../src/contracts/machine-agents.ts'
import * as maintenance from '../../src/contracts/maintenance.ts'
import * as members from '../../src/contracts/members.ts'
import { OPERATIONS, type OperationName } from '../../src/contracts/operations.ts'
import * as organizations from '../../src/contracts/organizations.ts'
import { changePassword } from '../../src/contracts/people.ts'
import * as pipelines from '../../src/contracts/pipelines.ts'
import * as proposals from '../../src/contracts/proposals.ts'
import * as receipts from '../../src/contracts/receipts.ts'
import * as remotes from '../../src/contracts/remotes.ts'
import * as revisions from '../../src/contracts/revisions.ts'
import {
  rotateSession,
  signInWithPassword,
  signOut,
  signOutEverywhere,
} from '../../src/contracts/sessions.ts'
import * as subscriptions from '../../src/contracts/subscriptions.ts'
import { elevateSupportSession, endSupportSession, startSupportSession } from '../../src/contracts/support.ts'
import { changeTicketStatus, createTicket, replyToTicket } from '../../src/contracts/tickets.ts'
import { createApiToken, revokeApiToken, rotateApiToken } from '../../src/contracts/tokens.ts'
import * as trail from '../../src/contracts/trail.ts'
import * as workloads from '../../src/contracts/workloads.ts'
import { expireDeployments } from '../../src/cores/deployments/index.ts'
import { unsubscribeToken } from '../../src/cores/notifications/subscriptions/unsubscribe-token.ts'
import { fakeCluster } from '../support/fake-cluster.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { configurationOf, insertSource, placeForDatabases } from '../support/data-sources.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { makeRevision } from '../support/deployments.ts'
import { fakeChatApp, fakeChecks, fakeGitHosts, stateIn } from '../support/fake-integrations.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { preRegistered } from '../support/assistant.ts'
import { addProvider } from '../support/identity-providers.ts'
import { makeIssuer, type Issuer } from '../support/issuer.ts'
import { furnishOrganization } from '../support/furnish-organization.ts'
import {
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { insertProposal } from '../support/insert-proposal.ts'
import { directoryOf } from '../support/scim.ts'
import { linkIn } from '../support/links.ts'
import { listOf } from '../support/documents.ts'
import { announced, startFile, uploadFile } from '../support/loads.ts'
import { archiveOf, sha256, uploadOf } from '../support/source.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

const [CLIENT, BLOCKED] = [unique('client'), unique('client')]
/** Shared by both, and on in neither. */
const ISSUER = `https://${unique('idp')}.test`
const ADDRESS = `${unique('invited')}@people.test`
const HOOK = `https://hooks.test/${unique('shared')}`
const ALIAS = unique('shop')
const REMOTE = { host: 'gitlab', url: 'https://git.test/acme/shop', token: 'x' } as const

let system: TestSystem
let host: DocumentHost
let issuer: Issuer
/** Owner of the one that is written to, with an address in its domain. */
let prover: Person
let place: Awaited<ReturnType<typeof placeForDatabases>>
/** In both organizations. */
let [owner, colleague, member]: Person[] = []
/** Support staff of both. */
let staff: Person
let untouched: Org
let here: Awaited<ReturnType<typeof furnish>>
let rowsOfUntouched: () => Promise<string>
let rowsBefore: string

const operator = () => system.as({ token: OPERATOR_TOKEN })
const secretOf = (invited: { invitation_url?: string | undefined }) =>
  (invited.invitation_url ?? linkIn(system.mails.at(-1)!.text)).split('/').at(-1)!

const machine = () => ({ machine_agent_id: here.machine_agent.id })
const byApp = () => system.as({ token: here.app_token.token })
const claimRun = () =>
  byApp()(pipelines.claimPipelineRun, { alias: ALIAS, worker: 'worker', pipelines: ['nightly'] })
let claim: { alias: string; run_id: string; fence: number }
const proposed = async (given: Parameters<typeof insertProposal>[2] = {}) => {
  const { id, diffSha256 } = await insertProposal(system, { orgId: here.org.id, id: here.app.id }, given)
  return { alias: ALIAS, proposal_id: id, diff_sha256: diffSha256 }
}

/** The same things under the same names in either of the two. */
const furnish = (org: Org) =>
  furnishOrganization(
    system,
    org,
    { owner: owner!, colleague: colleague!, member: member!, staff },
    {
      client: CLIENT,
      issuer: ISSUER,
      blocked: BLOCKED,
      address: ADDRESS,
      hook: HOOK,
      alias: ALIAS,
      source: 'shared',
    },
  )

const cluster = fakeCluster()
const bind = (org: Org, name: string) =>
  system.as({ token: owner!.token, organization: org.id })(workloads.bindServiceAccount, {
    alias: ALIAS,
    ...cluster.addAccount(org.id, name),
  })

const tablesWith = async (column: string): Promise<string[]> => {
  const tables = await system.db.execute<{ name: string }>(
    sql`select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = ${column} and table_name <> 'sessions' order by 1`,
  )
  return tables.map(({ name }) => name)
}

/**
 * All rows of an organization, in a statement for each kind of tables. Sessions are left out: they belong to a person, and
 * name the organization chosen last.
 */
async function readingRowsOf({ id }: Org): Promise<() => Promise<string>> {
  const [own, beside] = [await tablesWith('org_id'), await tablesWith('provider_id')]
  if (own.length <= 25 || beside.length <= 3)
    throw new Error(`Only these tables: ${[...own, ...beside].join()}`)
  const ofProviders = `provider_id in (select id from organization_identity_providers where org_id = '${id}')`
  const selects = [
    ...own.map((name) => ({ name, where: `org_id = '${id}'` })),
    ...beside.map((name) => ({ name, where: ofProviders })),
  ]
  const statements = Object.values(
    Object.groupBy(selects, ({ name }) => TABLE_KINDS[name as keyof typeof TABLE_KINDS]),
  ).map((some) =>
    some
      .map(({ name, where }) => `select '${name}' as name, t::text as row from ${name} t where ${where}`)
      .join(' union all '),
  )
  return async () => {
    const found: string[] = []
    for (const statement of statements) {
      const rows = await system.db.execute<{ name: string; row: string }>(`${statement} order by 1, 2`)
      found.push(...rows.map(({ name, row }) => `${name} ${row}`))
    }
    return found.join('\n')
  }
}

// It says nothing about the engine.
describe.skipIf(inject('engine') === 'pglite')('every write', () => {
  beforeAll(async () => {
    place = await placeForDatabases('embedded')
    host = await openDocumentHost()
    const env = {
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
      // Never asked: SCIM is set up at it.
      OIDC_ISSUER: 'https://idp.test',
      OIDC_CLIENT_ID: 'client',
      OIDC_CLIENT_SECRET: 'secret',
      PASSWORD_SIGN_IN: 'on',
      ...place.settings,
    }
    system = await startSystem(env, {
      withMail: true,
      checks: fakeChecks,
      chatApp: fakeChatApp,
      gitHosts: fakeGitHosts,
      guardedFetch: host.guardedFetch,
      ...cluster.overrides,
    })
    ;[owner, colleague, member] = [
      await makePerson(system),
      await makePerson(system),
      await makePerson(system),
    ]
    staff = await makePerson(system)
    untouched = await makeOrganization(system, owner)
    await furnish(untouched)
    if (!system.isHosted) await bind(untouched, 'worker')
    await operator()(organizations.setOrganizationDomains, {
      org_id: untouched.id,
      domains: [`${unique('corp')}.test`],
    })
    rowsOfUntouched = await readingRowsOf(untouched)
    rowsBefore = await rowsOfUntouched()
    // Furnishing the other one is the first of the writes.
    here = await furnish(await makeOrganization(system, owner))
    // What a person does for themself is told in the organization where they work: in this one.
    for (const person of [owner, colleague, member]) {
      await here.as(person)(organizations.switchOrganization, { org_id: here.org.id })
    }
  })
  afterAll(async () => {
    await place.clear(system)
    await system.stop()
    await place.remove()
    host.close()
  })

  /** What the write is, done in one of the two. An operation that is missing here, or below, fails the first test. */
  const WRITES: Partial<Record<OperationName, () => Promise<unknown>>> = {
    // First, because agents are switched off below.
    reportToolCall: async () => {
      const { id } = await here.byMember(createApiToken, { name: 'agent' })
      const token = await signActor(system, actorOf(here.org, member!, id))
      const bytes = { question_bytes: 1, answer_bytes: 1 }
      await system.as({ token })(reportToolCall, {
        name: 'whoami',
        outcome: 'answered',
        duration_ms: 1,
        ...bytes,
      })
    },
    changePassword: async () => {
      const person = await makeMember(system, here.org, 'viewer')
      await here.as(person)(changePassword, {
        current_password: PASSWORD,
        new_password: 'another few words here',
        end_api_tokens: true,
      })
    },
    createOrganization: () => here.byOwner(organizations.createOrganization, { name: untouched.name }),
    updateOrganization: () =>
      here.byOwner(organizations.updateOrganization, {
        org_id: here.org.id,
        name: untouched.name,
        agents_enabled: false,
        admins_may_invite: true,
        timezone: 'Europe/Vienna',
        support_access_enabled: true,
      }),
    switchOrganization: () => here.byOwner(organizations.switchOrganization, { org_id: here.org.id }),
    createOrganizationAsOperator: () =>
      operator()(organizations.createOrganizationAsOperator, {
        name: unique('Org'),
        admin_email: owner!.email,
      }),
    addOwnerAsOperator: async () => {
      const { id } = await operator()(organizations.createOrganizationAsOperator, {
        name: unique('Org'),
        admin_email: `${unique('absent')}@people.test`,
      })
      await operator()(organizations.addOwnerAsOperator, { org_id: id, email: owner!.email })
    },
    setOrganizationDomains: () =>
      operator()(organizations.setOrganizationDomains, {
        org_id: here.org.id,
        domains: [`${unique('corp')}.test`],
      }),
    changeMemberRole: async () => {
      const change = (role: 'admin' | 'viewer') =>
        here.byOwner(members.changeMemberRole, { org_id: here.org.id, user_id: colleague!.userId, role })
      await here.as(colleague!)(createApiToken, { name: 'capped' })
      await change('viewer')
      await change('admin')
    },
    inviteMember: () =>
      here.byOwner(members.inviteMember, { org_id: here.org.id, email: ADDRESS, role: 'admin' }),
    revokeInvitation: async () => {
      const { id } = await here.byOwner(members.inviteMember, { org_id: here.org.id, email: ADDRESS })
      await here.byOwner(members.revokeInvitation, { org_id: here.org.id, invitation_id: id })
    },
    acceptInvitation: async () => {
      const guest = await makePerson(system, { email: ADDRESS })
      const invited = await here.byOwner(members.inviteMember, { org_id: here.org.id, email: ADDRESS })
      await guest.call(members.acceptInvitation, { token: secretOf(invited) })
    },
    signInWithPassword: () => system.as()(signInWithPassword, { email: owner!.email, password: PASSWORD }),
    rotateSession: async () =>
      system.as({ ...(await signedIn(system, member!.email)), organization: here.org.id })(rotateSession, {}),
    signOut: async () =>
      system.as({ ...(await signedIn(system, member!.email)), organization: here.org.id })(signOut, {
        session_id: 'current',
      }),
    createApiToken: () => here.byMember(createApiToken, { name: 'shared' }),
    rotateApiToken: () => here.byMember(rotateApiToken, { token_id: here.token.id }),
    revokeApiToken: () => here.byOwner(revokeApiToken, { token_id: here.token.id }),
    narrowGrant: () => here.byMember(grants.narrowGrant, { grant_id: here.grant_id, scopes: ['data:read'] }),
    revokeGrant: () => here.byOwner(grants.revokeGrant, { grant_id: here.grant_id }),
    createMachineAgent: () =>
      here.byOwner(machines.createMachineAgent, { name: 'nightly', owner_id: member!.userId }),
    updateMachineAgent: () =>
      here.byOwner(machines.updateMachineAgent, { ...machine(), name: 'hourly', owner_id: owner!.userId }),
    addMachineAgentCredential: () => here.byOwner(machines.addMachineAgentCredential, machine()),
    rotateMachineAgentCredential: () =>
      here.byOwner(machines.rotateMachineAgentCredential, {
        ...machine(),
        credential_id: here.machine_agent.credentials[0]!.id,
      }),
    revokeMachineAgentCredential: () =>
      here.byOwner(machines.revokeMachineAgentCredential, {
        ...machine(),
        credential_id: here.machine_agent.credentials[0]!.id,
      }),
    removeMachineAgent: () => here.byOwner(machines.removeMachineAgent, machine()),
    blockOauthClient: async () => {
      for (const [client_id, blocked] of [
        [BLOCKED, false],
        [CLIENT, true],
      ] as const) {
        await here.byOwner(grants.blockOauthClient, { client_id, blocked })
      }
    },
    updateIdentityProvider: () =>
      here.byOwner(identityProvider.updateIdentityProvider, {
        name: 'Renamed',
        state: 'paused',
        linking: 'domain',
        default_scopes: [],
        is_required: true,
      }),
    createIdentityProviderClient: () =>
      here.byOwner(identityProvider.createIdentityProviderClient, {
        name: 'Claude',
        max_scopes: ['data:read'],
        resources: ['platform'],
      }),
    allowIdentityProviderClient: async () => {
      const { clientId: client_id } = await preRegistered(system)
      const terms = { max_scopes: ['data:read' as const], resources: ['platform' as const] }
      await here.byOwner(identityProvider.allowIdentityProviderClient, { client_id, ...terms })
    },
    setIdentityProviderRules: () =>
      here.byOwner(identityProvider.setIdentityProviderRules, {
        rules: [{ claim: null, value: null, scopes: [] }],
      }),
    linkIdentity: () =>
      here.byOwner(identityProvider.linkIdentity, { subject: unique('subject'), user_id: member!.userId }),
    unlinkIdentity: () =>
      here.byOwner(identityProvider.unlinkIdentity, { link_id: here.identityProvider.link_id }),
    forbidIdentityProviderClient: () =>
      here.byOwner(identityProvider.forbidIdentityProviderClient, { client_id: CLIENT }),
    endEnterpriseGrants: () => here.byOwner(identityProvider.endEnterpriseGrants, {}),
    deleteIdentityProvider: () => here.byOwner(identityProvider.deleteIdentityProvider, {}),
    createIdentityProvider: async () => {
      issuer = await makeIssuer(system, host)
      await addProvider(system, host, { ...here.org, owner: { ...owner!, call: here.byOwner } }, { issuer })
    },
    activateIdentityProvider: async () => {
      const domain = `${unique('corp')}.test`
      prover = await makePerson(system, { email: `${unique('owner')}@${domain}` })
      await makeMember(system, here.org, 'owner', prover)
      await operator()(organizations.setOrganizationDomains, { org_id: here.org.id, domains: [domain] })
      const assertion = await issuer.assertionFor(prover)
      await here.as(prover)(identityProvider.activateIdentityProvider, { assertion })
    },
    moveIdentityProvider: () => operator()(identityProvider.moveIdentityProvider, { issuer: issuer.issuer }),
    createDatabase: () => here.byOwner(databases.createDatabase, { name: 'made' }),
    createDocuments: () => here.byOwner(documents.createDocuments, { name: 'papers' }),
    syncDocuments: () =>
      here.byOwner(documents.syncDocuments, { name: 'papers', files: listOf({ 'a.md': 'sent' }) }),
    createLoad: () => here.byOwner(loads.createLoad, announced('made', 'id,text\n1,begun\n')),
    uploadLoadPart: () => uploadFile(here.byOwner, 'made', 'id,text\n1,uploaded\n'),
    startLoad: () =>
      startFile(here.byOwner, 'made', 'id,text\n1,started\n', { id_column: 'id', embed_columns: ['text'] }),
    cancelLoad: async () => {
      const { id: load_id } = await here.byOwner(loads.createLoad, announced('made', 'id,text\n1,ended\n'))
      await here.byOwner(loads.cancelLoad, { load_id })
    },
    removeDatabase: async () => {
      const { name } = await insertSource(system, here.org, { name: 'removed' })
      await here.byOwner(databases.removeDatabase, { name, confirm: name })
    },
    saveSearchConfiguration: () =>
      here.byOwner(sources.saveSearchConfiguration, { source_id: here.source_id, ...configurationOf([]) }),
    updateDataSource: () =>
      here.byOwner(sources.updateDataSource, { source_id: 'db_shared', description: 'Another.' }),
    setDataSourceExposure: () =>
      here.byOwner(sources.setDataSourceExposure, { source_id: 'db_shared', exposed: false }),
    setDataSourceState: () =>
      here.byOwner(sources.setDataSourceState, { source_id: 'db_shared', enabled: false }),
    acknowledgeNotification: () =>
      here.byMember(acknowledgeNotification, { notification_id: here.notification_id }),
    createScimBearer: async () => {
      await operator()(organizations.setOrganizationDomains, {
        org_id: here.org.id,
        domains: [`${unique('corp')}.test`],
      })
      await here.byOwner(scim.createScimBearer, { provider: 'oidc' })
    },
    rotateScimBearer: () => here.byOwner(scim.rotateScimBearer, {}),
    setGroupRole: async () => {
      const { token } = await here.byOwner(scim.rotateScimBearer, {})
      const displayName = unique('group')
      const { body } = await directoryOf(system, token)('POST', '/Groups', { displayName })
      await here.byOwner(scim.setGroupRole, { group_id: body.id, role: 'developer' })
      await here.byOwner(scim.setGroupRole, { group_id: body.id, role: 'none' })
    },
    revokeScimBearer: () => here.byOwner(scim.revokeScimBearer, {}),
    createTrailStream: () =>
      here.byOwner(trail.createTrailStream, { kind: 'webhook', url: 'https://siem.test/in' }),
    removeTrailStream: async () => {
      const url = 'https://siem.test/v1/logs'
      const { id: stream_id } = await here.byOwner(trail.createTrailStream, { kind: 'otlp', url })
      await here.byOwner(trail.removeTrailStream, { stream_id })
    },
    createGroup: () => here.byOwner(groups.createGroup, { name: unique('group') }),
    renameGroup: () => here.byOwner(groups.renameGroup, { ...here.group, name: unique('group') }),
    addGroupMember: () =>
      here.byOwner(groups.addGroupMember, { ...here.group, member_id: colleague!.userId }),
    removeGroupMember: () =>
      here.byOwner(groups.removeGroupMember, { ...here.group, member_id: member!.userId }),
    removeGroup: () => here.byOwner(groups.removeGroup, here.group),
    createApp: () => here.byOwner(apps.createApp, { alias: unique('app'), name: 'Another' }),
    renameApp: () => here.byOwner(apps.renameApp, { alias: ALIAS, name: 'Renamed' }),
    setAppMember: () =>
      here.byOwner(apps.setAppMember, { alias: ALIAS, user_id: member!.userId, role: 'maintainer' }),
    claimDeployment: async () => {
      const claimed = await here.byMember(deployments.claimDeployment, { alias: ALIAS, runner: 'shared' })
      expect(claimed).toMatchObject({ deployment: { id: here.deployment.deployment_id }, fence: 1 })
    },
    reportDeploymentOutput: () =>
      here.byMember(deployments.reportDeploymentOutput, {
        ...here.deployment,
        fence: 1,
        text: 'shared\n',
        position: 0,
      }),
    finishDeployment: () =>
      here.byMember(deployments.finishDeployment, { ...here.deployment, fence: 1, exit_code: 0 }),
    pushRevision: () =>
      here.byMember(revisions.pushRevision, { alias: ALIAS, body: archiveOf({ 'main.js': 'shared\n' }) }),
    uploadFiles: () => here.byMember(revisions.uploadFiles, { alias: ALIAS, body: uploadOf('uploaded\n') }),
    createRevision: () =>
      here.byMember(revisions.createRevision, {
        alias: ALIAS,
        files: [{ path: 'main.js', sha256: sha256('uploaded\n') }],
      }),
    createDeployment: async () => {
      const revision_id = await makeRevision(system, { orgId: here.org.id, id: here.app.id })
      await here.byMember(deployments.createDeployment, { alias: ALIAS, revision_id })
    },
    confirmDeploymentEnded: async () => {
      const lost = await here.byMember(deployments.claimDeployment, { alias: ALIAS, runner: 'shared' })
      await system.db.execute(
        sql`update deployments set lease_until = now() - interval '1 second' where org_id = ${here.org.id}`,
      )
      const { log } = system.system
      await expireDeployments({ db: system.db, clock: () => system.clock.now(), log }, { since: new Date(0) })
      await here.byMember(deployments.confirmDeploymentEnded, {
        alias: ALIAS,
        deployment_id: lost.deployment!.id,
      })
    },
    rollBackDeployment: () => here.byMember(deployments.rollBackDeployment, { alias: ALIAS }),
    cancelDeployment: async () => {
      const queued = await here.byMember(deployments.listDeployments, { alias: ALIAS, state: 'queued' })
      await here.byMember(deployments.cancelDeployment, {
        alias: ALIAS,
        deployment_id: queued.deployments[0]!.id,
      })
    },
    reportBrokenRollout: () => here.byMember(deployments.reportBrokenRollout, here.deployment),
    createPipeline: () => here.byMember(pipelines.createPipeline, { alias: ALIAS, name: 'weekly' }),
    updatePipeline: () => here.byMember(pipelines.updatePipeline, { ...here.pipeline, grace_minutes: 5 }),
    startPipelineRun: () => here.byMember(pipelines.startPipelineRun, here.pipeline),
    claimPipelineRun: async () => {
      const { run, fence } = await claimRun()
      claim = { alias: ALIAS, run_id: run!.id, fence: fence! }
    },
    keepPipelineRun: () => byApp()(pipelines.keepPipelineRun, claim),
    finishPipelineRun: () => byApp()(pipelines.finishPipelineRun, { ...claim, succeeded: true }),
    removePipeline: () => here.byMember(pipelines.removePipeline, here.pipeline),
    createCheck: () =>
      here.byMember(checks.createCheck, {
        alias: ALIAS,
        name: 'Another',
        definition: { kind: 'http', url: HOOK, headers: { 'x-key': 'secret' } },
      }),
    updateCheck: () => here.byMember(checks.updateCheck, { ...here.check, name: 'Renamed' }),
    runCheck: () => here.byMember(checks.runCheck, here.check),
    updateMaintenanceSettings: () =>
      here.byOwner(maintenance.updateMaintenanceSettings, { org_id: here.org.id, cooldown_hours: 0 }),
    updateAppMaintenance: async () => {
      for (const enabled of [false, true])
        await here.byOwner(maintenance.updateAppMaintenance, { alias: ALIAS, enabled })
    },
    startMaintenanceRun: () =>
      here.byOwner(maintenance.startMaintenanceRun, { alias: ALIAS, idempotency_key: 'shared' }),
    approveProposal: async () => here.as(colleague!)(proposals.approveProposal, await proposed()),
    denyProposal: async () => here.as(colleague!)(proposals.denyProposal, await proposed()),
    retryProposal: async () =>
      here.as(colleague!)(proposals.retryProposal, await proposed({ state: 'failed' })),
    createTicket: () => here.byMember(createTicket, { alias: ALIAS, title: 'Again', body: 'Broken again.' }),
    replyToTicket: () => here.byOwner(replyToTicket, { ...here.ticket, body: 'Looking.' }),
    changeTicketStatus: () => here.byOwner(changeTicketStatus, { ...here.ticket, status: 'done' }),
    connectEmail: () => here.byOwner(integrations.connectEmail, { address: 'desk@people.test' }),
    sendAddressVerification: async () => {
      const listed = await here.byOwner(integrations.listIntegrations, {})
      const { id } = listed.integrations.find(({ kind }) => kind === 'email')!
      await here.byOwner(integrations.sendAddressVerification, { integration_id: id })
    },
    verifyAddress: async () => {
      const mail = system.mails.findLast(
        ({ to, text }) => to === 'desk@people.test' && text.includes(here.org.id),
      )!
      const asked = { token: linkIn(mail.text).split('/').at(-1)! }
      const shown = await system.as()(integrations.showAddressVerification, asked)
      expect(shown).toMatchObject({ verified: false })
      return system.as()(integrations.verifyAddress, asked)
    },
    connectWebhook: () =>
      here.byOwner(integrations.connectWebhook, {
        name: 'Second',
        url: `https://hooks.test/${unique('in')}`,
      }),
    connectChatWebhook: () =>
      here.byOwner(integrations.connectChatWebhook, {
        name: 'Chat',
        url: `https://hooks.chat.test/services/T1/${unique('general')}`,
      }),
    beginChatInstall: () => here.byOwner(integrations.beginChatInstall, {}),
    completeChatInstall: async () => {
      const { url } = await here.byOwner(integrations.beginChatInstall, {})
      await here.byOwner(integrations.completeChatInstall, { code: 'T1/#general/2', state: stateIn(url) })
    },
    configureForum: () =>
      here.byOwner(integrations.configureForum, { config: { url: 'https://forum.test', category: 7 } }),
    beginChatLink: () => here.byMember(integrations.beginChatLink, {}),
    removeChatLink: () => here.byMember(integrations.removeChatLink, {}),
    completeChatLink: async () => {
      const { url } = await here.byMember(integrations.beginChatLink, {})
      await here.byMember(integrations.completeChatLink, {
        code: `T1/${member!.userId}/Ada`,
        state: stateIn(url),
      })
    },
    createSubscription: () =>
      here.byOwner(subscriptions.createSubscription, {
        integration_id: here.integration_id,
        pattern: 'deploy.*',
      }),
    updateMySubscription: () =>
      here.byMember(subscriptions.updateMySubscription, {
        subscription_id: here.mySubscription,
        enabled: false,
      }),
    unsubscribe: () => {
      const key = system.system.gateway!.dataKeys.keyFor('unsubscribe')
      const named = { orgId: here.org.id, subscriptionId: here.mySubscription, mailbox: null }
      return system.as()(subscriptions.unsubscribe, { token: unsubscribeToken(key, named) })
    },
    setFollow: () => here.byMember(subscriptions.setFollow, { alias: ALIAS, categories: [] }),
    replayDelivery: () => here.byOwner(replayDelivery, { delivery_id: here.delivery_id }),
    retryDelivery: async () => {
      const to = { integrationId: here.integration_id, subscriptionId: here.subscription_id }
      const waiting = { ...to, state: 'waiting', settledAt: null } as const
      const { id } = await insertDelivery(system, here.org, waiting, [])
      await here.byOwner(retryDelivery, { delivery_id: id })
    },
    recoverDeliveries: () =>
      here.byOwner(recoverDeliveries, { integration_id: here.integration_id, since: '2000-01-01T00:00:00Z' }),
    replayFailedDeliveries: () => here.byOwner(replayFailedDeliveries, { from: '2000-01-01T00:00:00Z' }),
    testSubscription: () =>
      here.byOwner(subscriptions.testSubscription, { subscription_id: here.subscription_id }),
    testIntegration: () =>
      here.byOwner(integrations.testIntegration, { integration_id: here.integration_id }),
    connectForum: () =>
      here.byOwner(integrations.connectForum, { url: `https://${unique('forum')}.test`, api_key: 'key' }),
    updateSubscription: () =>
      here.byOwner(subscriptions.updateSubscription, {
        subscription_id: here.subscription_id,
        enabled: false,
      }),
    pauseIntegration: () =>
      here.byOwner(integrations.pauseIntegration, { integration_id: here.integration_id }),
    resumeIntegration: () =>
      here.byOwner(integrations.resumeIntegration, { integration_id: here.integration_id }),
    updateIntegration: () =>
      here.byOwner(integrations.updateIntegration, {
        integration_id: here.integration_id,
        name: 'Renamed',
        enabled: false,
      }),
    startSupportSession: async () =>
      operator()(startSupportSession, {
        org: here.org.id,
        staff_email: (await makePerson(system)).email,
        reason: 'They asked for help',
      }),
    elevateSupportSession: () =>
      here.byStaff(elevateSupportSession, {
        support_session_id: here.support_session_id,
        reason: 'To repair it',
      }),
    endSupportSession: () => here.byOwner(endSupportSession, { support_session_id: here.support_session_id }),
    deleteSubscription: () =>
      here.byOwner(subscriptions.deleteSubscription, { subscription_id: here.subscription_id }),
    rotateWebhookSecret: () =>
      here.byOwner(integrations.rotateWebhookSecret, { integration_id: here.integration_id }),
    removeWebhookSecret: () =>
      here.byOwner(integrations.removeWebhookSecret, { integration_id: here.integration_id }),
    removeIntegration: () =>
      here.byOwner(integrations.removeIntegration, { integration_id: here.integration_id }),
    pushLogs: () => here.byMember(logs.pushLogs, { alias: ALIAS, body: Buffer.from('another line\n') }),
    sendAppEvent: () =>
      here.byMember(sendAppEvent, { alias: ALIAS, type: `app.${ALIAS}.order_failed`, subject: 'order-1' }),
    exportLogs: () =>
      system.as({ token: here.app_token.token })(logs.exportLogs, {
        content_type: 'application/json',
        body: Buffer.from(
          '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a record"}}]}]}]}',
        ),
      }),
    createAppToken: () =>
      here.byOwner(appTokens.createAppToken, { alias: ALIAS, name: 'collector', scope: 'apps:report' }),
    rotateAppToken: () =>
      here.byOwner(appTokens.rotateAppToken, { alias: ALIAS, token_id: here.app_token.id }),
    revokeAppToken: () =>
      here.byOwner(appTokens.revokeAppToken, { alias: ALIAS, token_id: here.app_token.id }),
    setAppRemote: () => here.byOwner(remotes.setAppRemote, { alias: ALIAS, ...REMOTE }),
    createRemoteSecret: async () => {
      await here.byOwner(remotes.setAppRemote, { alias: ALIAS, ...REMOTE })
      await here.byOwner(remotes.createRemoteSecret, { alias: ALIAS })
    },
    receiveRemoteCall: async () => {
      await here.byOwner(remotes.setAppRemote, { alias: ALIAS, ...REMOTE })
      const { secret } = await here.byOwner(remotes.createRemoteSecret, { alias: ALIAS })
      const { id: app_id } = await here.byOwner(apps.showApp, { alias: ALIAS })
      await system.as()(remotes.receiveRemoteCall, {
        org_id: here.org.id,
        app_id,
        body: Buffer.from('{}'),
        gitlab_token: secret,
      })
    },
    removeAppRemote: async () => {
      await here.byOwner(remotes.setAppRemote, { alias: ALIAS, ...REMOTE })
      await here.byOwner(remotes.removeAppRemote, { alias: ALIAS })
    },
    bindServiceAccount: () => bind(here.org, 'second'),
    unbindServiceAccount: async () => {
      const { id: binding_id } = await bind(here.org, 'third')
      await here.byOwner(workloads.unbindServiceAccount, { alias: ALIAS, binding_id })
    },
    removeCheck: () => here.byMember(checks.removeCheck, here.check),
    removeAppMember: () => here.byOwner(apps.removeAppMember, { alias: ALIAS, user_id: member!.userId }),
    signOutEverywhere: async () => {
      const person = await makeMember(system, here.org, 'viewer')
      await here.as(person)(signOutEverywhere, {})
    },
    // Last, because the others need what these end.
    rotateConnectionString: () => here.byOwner(databases.rotateConnectionString, { name: 'made' }),
    endWithReceipt: async () => {
      await here.byOwner(receipts.endWithReceipt, { of: 'organization', dry_run: true })
      await here.byOwner(receipts.endWithReceipt, { of: 'person', id: member!.userId })
      await here.byOwner(receipts.endWithReceipt, { of: 'client', id: CLIENT })
    },
    endAccessSince: () => here.byOwner(endAccessSince, { since: '2000-01-01T00:00:00Z', all: true }),
    removeMember: async () => {
      for (const person of [colleague!]) {
        await here.byOwner(members.removeMember, { org_id: here.org.id, user_id: person.userId })
      }
    },
    // By the name that it was given above.
    removeOrganization: () =>
      here.byOwner(organizations.removeOrganization, { org_id: here.org.id, confirm: untouched.name }),
  }

  const NOT_HERE: Partial<Record<OperationName, string>> = {
    sendEmailVerification: 'mails a link to a person, and writes to no organization',
    removeOrganizationAsOperator: 'does what removeOrganization does',
    exchangeSignInCode: 'belongs to a person, and writes to no organization',
    attachDatabase: 'inserts the row that createDatabase inserts',
    undoLoad: 'changes a managed database, and needs two versions: test/walks/loads.test.ts',
    undoDocuments: 'changes a managed database, and needs two versions: test/walks/documents.test.ts',
    createEmbeddings: 'counts tokens, each organization its own: test/walks/loads.test.ts',
    setOauthClientActive: 'is the operator’s, for all organizations',
    evictRegistration: 'is the operator’s, for all organizations',
    rotateTrailKey: 'is the operator’s, for all organizations',
    startEval: 'asks a managed database: test/walks/row-access.test.ts',
    askEval: 'asks a managed database: test/walks/row-access.test.ts',
    setThreshold: 'needs an eval that has found enough: test/walks/row-access.test.ts',
    updateProfile: 'is seen in every organization of the person, and told in each',
  }

  test('is in the table', () => {
    const writes = OPERATIONS.filter(({ readOnly }) => !readOnly).map(({ name }) => name as string)
    expect(Object.keys({ ...WRITES, ...NOT_HERE }).toSorted()).toEqual(writes.toSorted())
  })

  test.each(Object.keys(WRITES) as OperationName[])('%s', async (name) => {
    await WRITES[name]!()
    expect(await rowsOfUntouched()).toBe(rowsBefore)
  })

  test('and the rows that are compared are there', () => {
    for (const shared of [CLIENT, BLOCKED, ADDRESS, ALIAS, member!.userId, 'T1', 'db_shared'.slice(3)]) {
      expect(rowsBefore).toContain(shared)
    }
  })
})
