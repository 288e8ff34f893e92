/** An organization with one of everything, and what its ids, names and secrets are, by the fields that take them. */
import { beginChatInstall, beginChatLink } from '../../src/contracts/integrations.ts'
import { listSessions } from '../../src/contracts/sessions.ts'
import type { Known } from './api-requests.ts'
import { stateIn } from './fake-integrations.ts'
import { furnishOrganization, type FurnishedOrganization, type People } from './furnish-organization.ts'
import { EVIDENCE_REF } from './insert-proposal.ts'
import { makeOrganization, makePerson, PASSWORD, unique, type Org } from './make.ts'
import type { TestSystem } from './system.ts'

export type FurnishedWorld = {
  readonly org: Org
  readonly people: People
  readonly things: FurnishedOrganization
  readonly alias: string
  readonly known: Known
}

const WINDOW = { from: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }
const PUBLIC_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}
const CHECK = { kind: 'http', url: 'https://shop.test/health' }

export async function makeFurnishedWorld(system: TestSystem): Promise<FurnishedWorld> {
  const org = await makeOrganization(system)
  const [colleague, member, staff] = [
    await makePerson(system),
    await makePerson(system),
    await makePerson(system),
  ]
  const people: People = { owner: org.owner, colleague, member, staff }
  const names = {
    client: unique('client'),
    issuer: `https://${unique('idp')}.test`,
    blocked: unique('client'),
    address: `${unique('invited')}@people.test`,
    hook: `https://hooks.test/${unique('hook')}`,
    alias: unique('shop'),
    source: unique('source').replace('-', '_'),
  }
  const things = await furnishOrganization(system, org, people, names)
  const sessions = await things.byOwner(listSessions, {})
  const source = `db_${names.source}`
  const known: Known = {
    org_id: [org.id],
    org: [org.id, org.slug],
    organization: [org.id],
    user_id: [member.userId, colleague.userId, org.owner.userId],
    invitation_id: [things.invited.id],
    session_id: [sessions.sessions[0]!.id],
    token_id: [things.token.id],
    'revokeAppToken.token_id': [things.app_token.id],
    'rotateAppToken.token_id': [things.app_token.id],
    'setAppRemote.url': ['https://git.test/people/shop'],
    grant_id: [things.grant_id],
    machine_agent_id: [things.machine_agent.id],
    credential_id: [things.machine_agent.credentials[0]!.id],
    owner_id: [member.userId],
    public_key: [PUBLIC_KEY],
    expires_at: [new Date(system.clock.now().getTime() + 86_400_000).toISOString()],
    client_id: [names.client, names.blocked],
    link_id: [things.identityProvider.link_id],
    subject: [things.identityProvider.subject, unique('subject')],
    issuer: [names.issuer],
    claim: ['groups'],
    value: ['engineering'],
    assertion: ['not.an.assertion'],
    source_id: [source, things.source_id],
    sources: [source, things.source_id],
    source: [source],
    notification_id: [things.notification_id],
    alias: [names.alias],
    app: [names.alias],
    'createApp.alias': [unique('app'), unique('app'), names.alias],
    namespace: ['shop'],
    service_account: ['worker'],
    ticket_id: [things.ticket.ticket_id],
    revision_id: [things.revision_id],
    deployment_id: [things.deployment.deployment_id],
    proposal_id: [things.proposal.proposal_id],
    diff_sha256: [things.proposal.diff_sha256],
    incident_id: [things.finding.finding_id, things.check.check_id],
    finding_id: [things.finding.finding_id],
    execution_id: [things.run.execution_id],
    ref: [EVIDENCE_REF],
    check_id: [things.check.check_id],
    'createCheck.definition': [CHECK],
    'updateCheck.definition': [CHECK],
    maintenance_windows: [WINDOW],
    add_maintenance_window: [WINDOW],
    remove_maintenance_window: [WINDOW],
    pipeline_id: [things.pipeline.pipeline_id],
    fence: [1],
    wait_seconds: [0],
    support_session_id: [things.support_session_id],
    integration_id: [things.integration_id],
    subscription_id: [things.subscription_id],
    'updateMySubscription.subscription_id': [things.mySubscription],
    delivery_id: [things.delivery_id],
    email: [names.address, member.email],
    address: [names.address, member.email],
    staff_email: [(await makePerson(system)).email],
    admin_email: [member.email, `${unique('absent')}@people.test`],
    password: [PASSWORD],
    current_password: [PASSWORD],
    timezone: ['Europe/Vienna', 'UTC'],
    'showConnectionString.name': [names.source],
    'removeDatabase.name': [names.source],
    'createLoad.name': [names.source],
    'listLoads.name': [names.source],
    'syncDocuments.name': [names.source],
    'showDocuments.name': [names.source],
    'undoDocuments.name': [names.source],
    load_id: [things.load_id],
    group_id: [things.group.group_id],
    member_id: [things.machine_agent.id, member.userId],
    'createLoad.sha256': ['0'.repeat(64)],
    confirm: [names.source],
    'validateToken.token': [things.token.token],
    url: ['https://hooks.test/one', 'https://forum.test'],
    'attachDatabase.url': ['postgres://svc:secret@127.0.0.1:1/nothing'],
    api_key: ['key', 'bad', 'single', 'down'],
    code: ['T1/#general', 'T1/U1/Ada', 'refused', 'down'],
    state: [stateIn((await things.byOwner(beginChatInstall, {})).url)],
    'completeChatLink.state': [stateIn((await things.byOwner(beginChatLink, {})).url)],
    query: ['[1,0,0]', 'what is there'],
  }
  return { org, people, things, alias: names.alias, known }
}
