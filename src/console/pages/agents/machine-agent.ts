/** One machine agent: what it may do, its credentials, and who answers for it until when. */
import { html } from 'hono/html'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { showGrant } from '../../../contracts/grants.ts'
import { EXPOSED_MAX, MACHINE_AGENT_CREDENTIALS_PER_KIND } from '../../../contracts/limits.ts'
import {
  addMachineAgentCredential,
  mayGive,
  removeMachineAgent,
  revokeMachineAgentCredential,
  rotateMachineAgentCredential,
  showMachineAgent,
  updateMachineAgent,
  type MachineAgentCredentialKind,
} from '../../../contracts/machine-agents.ts'
import { button, card, linkButton, notice, problemNotice, selectField } from '../../../pages/parts.ts'
import { day, emptyState, exactTime, listCard, pair, roleBadge, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { redirectWithMessage, setFlash } from '../../flash.ts'
import { dateLabel } from '../../format.ts'
import { attempt, confirmDialog, form, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { findMember, memberField } from '../../member-field.ts'
import { rotate, rotateDialog } from '../../rotation.ts'
import { ACTIVITY_PATH } from '../activity/activity-rows.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import { agentPath, AGENTS_PATH, agentsOffNotice } from './agent-labels.ts'
import { permissionsCard, sourcesCard, unusedNotice } from './grant-cards.ts'
import { canQueryData } from './grant-sources.ts'
import {
  EXPIRIES,
  expiryIn,
  MACHINE_AGENTS_PATH,
  machineAgentPath,
  STATE_BADGES,
  type Agent,
} from './machine-agent-labels.ts'
import { credentialCreated } from './machine-credential.ts'
import { isByKey, KEY, readJwk } from './new-machine-agent.ts'

const ID = ':machine_agent_id{mch_[0-9a-z]{25}}'
const CREDENTIAL = ':credential_id{crd_[0-9a-z]{25}}'

export const machineAgentRoutes = () =>
  createRoutes()
    .get(`/agents/machine/${ID}`, (c) => showOne(c))
    .post(`/agents/machine/${ID}`, update)
    .post(`/agents/machine/${ID}/credentials`, addCredential)
    .post(`/agents/machine/${ID}/credentials/${CREDENTIAL}/rotate`, rotateCredential)
    .post(`/agents/machine/${ID}/credentials/${CREDENTIAL}/revoke`, revokeCredential)
    .post(`/agents/machine/${ID}/remove`, remove)

const herePath = (c: PageContext): string =>
  machineAgentPath(routeInput(c, showMachineAgent).machine_agent_id)

const DETAILS = formOf(updateMachineAgent, ['name'])

async function showOne(c: PageContext, refused?: Refused) {
  const session = sessionOf(c)
  const agent = await session.call(showMachineAgent, routeInput(c, showMachineAgent))
  const grant = agent.grant_id === null ? null : await session.call(showGrant, { grant_id: agent.grant_id })
  const isOpen = grant !== null && grant.ended === null && canQueryData(grant) && grant.sources === null
  const { data_sources } = isOpen
    ? await session.call(listAskableDataSources, { limit: EXPOSED_MAX })
    : { data_sources: [] }
  const mayManage = session.support === undefined && mayGive(organizationOf(c).role, agent)
  return page(c, {
    title: agent.name,
    lead: 'A machine agent: it acts without a person.',
    actions: html`${hasRole(session, 'admin') && linkButton(`${ACTIVITY_PATH}?person=${agent.user_id}`, 'Activity', 'quiet')} ${session.support === undefined && html`${endAccessLink('machine_agent', agent.id)} ${endDialogs(c, agent)}`}`,
    status: statusOf(refused?.problem),
    body: html`${stateNotice(c, agent)} ${grant && unusedNotice(c, grant)}
      <div class="split">
        <div class="split-main">
          ${credentialsCard(c, agent, mayManage, refused?.of === KEY ? refused : undefined)}
          ${mayManage && hasRole(session, 'admin') && (await detailsCard(c, agent, refused?.of === DETAILS ? refused : undefined))}
        </div>
        <div class="split-side">
          ${accessCard(agent)} ${grant && permissionsCard(c, grant)} ${grant && sourcesCard(c, grant, false, data_sources)}
        </div>
      </div>`,
  })
}

function stateNotice(c: PageContext, { state, owner }: Agent) {
  switch (state) {
    case 'active':
      return agentsOffNotice(organizationOf(c))
    case 'expired':
      return notice(
        'info',
        html`<p><strong>This machine agent has expired.</strong> It has no access until an admin gives it a later expiry.</p>`,
      )
    case 'disconnected':
      return notice(
        'info',
        html`<p><strong>This machine agent was disconnected.</strong> It cannot come back. Remove it, and create another one.</p>`,
      )
    case 'owner_left':
      return notice(
        'info',
        html`<p><strong>${owner.name} has left.</strong> It has no access until an admin gives it another owner.</p>`,
      )
    case 'blocked':
      return notice(
        'info',
        html`<p><strong>This machine agent is blocked.</strong> It has no access until an admin unblocks it under <a href="${AGENTS_PATH}/clients">Clients</a>, or the operator switches it on again.</p>`,
      )
    case 'no_credentials':
      return notice(
        'info',
        html`<p><strong>This machine agent has no credentials.</strong> It cannot get a token until you add one.</p>`,
      )
  }
}

const accessCard = (agent: Agent) =>
  card(
    'Access',
    html`<dl class="pairs pairs-narrow">
      ${pair('State', STATE_BADGES[agent.state])}
      ${pair('Role', html`${roleBadge(agent.role)}${agent.current_role !== null && agent.current_role !== agent.role && html` <span class="note">now ${roleBadge(agent.current_role)}, the role of its owner</span>`}`)}
      ${pair('Owner', html`${agent.owner.name} <span class="note">${agent.owner.email}</span>`)}
      ${pair('Endpoint', html`<code>/platform</code>`)} ${pair('Created', day(agent.created_at))}
      ${pair('Last used', agent.last_used_at ? time(agent.last_used_at) : 'Never')}
      ${pair('Expires', day(agent.expires_at))} ${pair('Client ID', html`<code>${agent.client_id}</code>`)}
    </dl>`,
  )

const KIND_LABELS: Record<MachineAgentCredentialKind, string> = { secret: 'Secret', public_key: 'Public key' }

/** Two of a kind at most, besides those that are being rotated out. */
function credentialsCard(c: PageContext, agent: Agent, mayAdd: boolean, key: Refused | undefined) {
  const { credentials } = agent
  const isFull = (kind: MachineAgentCredentialKind): boolean =>
    credentials.filter((one) => one.kind === kind && one.replaced_by === null).length >=
    MACHINE_AGENT_CREDENTIALS_PER_KIND
  return listCard(c, {
    title: 'Credentials',
    caption: 'Credentials',
    columns: ['Credential', 'Created', 'Last used', 'Expires', '(Actions)'],
    rows: credentials.map((one) => credentialRow(c, agent, one, mayAdd)),
    empty: emptyState('No credentials', 'Without one it cannot get a token.'),
    after:
      mayAdd &&
      html`${addSecretForm(c, agent, isFull('secret'))} ${addKeyForm(c, agent, isFull('public_key'), key)}`,
  })
}

const credentialRow = (
  c: PageContext,
  agent: Agent,
  credential: Agent['credentials'][number],
  mayRotate: boolean,
) => {
  const name = `${KIND_LABELS[credential.kind].toLowerCase()} ${credential.starts_with ?? ''}`.trim()
  return [
    html`${KIND_LABELS[credential.kind]} <code class="note" title="${credential.starts_with}">${credential.starts_with}${credential.kind === 'secret' && '…'}</code>`,
    day(credential.created_at),
    credential.last_used_at ? time(credential.last_used_at) : html`<span class="note">Never</span>`,
    endOf(credential),
    html`<div class="row-actions">${
      mayRotate &&
      credential.replaced_by === null &&
      rotateDialog(c, {
        id: credential.id,
        name,
        action: `${machineAgentPath(agent.id)}/credentials/${credential.id}/rotate`,
        fields:
          credential.kind === 'public_key' && KEY.show().field('public_key', { id: `key-${credential.id}` }),
      })
    } ${
      sessionOf(c).support === undefined &&
      confirmDialog(c, {
        label: 'Revoke',
        name: `Revoke ${name}`,
        title: 'Revoke this credential?',
        action: `${machineAgentPath(agent.id)}/credentials/${credential.id}/revoke`,
        text: 'Revokes all its tokens, and the credential that this one is being rotated to or from. It needs another credential to get new ones.',
        submit: 'Revoke credential',
      })
    }</div>`,
  ]
}

function endOf({ expires_at, replaced_by }: Agent['credentials'][number]) {
  if (expires_at === null) return html`<span class="note">With the agent</span>`
  return replaced_by === null ? day(expires_at) : html`Rotated; works until ${exactTime(expires_at)}`
}

const credentialsPath = ({ id }: Agent): string => `${machineAgentPath(id)}/credentials`

const addSecretForm = (c: PageContext, agent: Agent, isFull: boolean) =>
  isFull
    ? html`<p class="note">To add another secret, revoke one first.</p>`
    : form(
        c,
        credentialsPath(agent),
        html`<input type="hidden" name="credential" value="secret" />
          ${button('Add a secret', 'quiet')}`,
      )

const addKeyForm = (c: PageContext, agent: Agent, isFull: boolean, key: Refused | undefined) =>
  !isFull &&
  html`<details class="more" ${key && html`open`}>
    <summary>Add a public key</summary>
    ${problemNotice(key?.problem, ['public_key'])}
    ${form(c, credentialsPath(agent), html`<input type="hidden" name="credential" value="key" />${KEY.show({ refused: key }).all()} ${button('Add public key', 'quiet')}`)}
  </details>`

async function detailsCard(c: PageContext, agent: Agent, refused: Refused | undefined) {
  const form = DETAILS.show({ now: agent, refused })
  return formCard(c, {
    of: form,
    shown: [...form.shown, 'owner'],
    title: 'Details',
    action: machineAgentPath(agent.id),
    fields: html`${form.field('name')}
    ${await memberField(c, {
      name: 'owner',
      label: 'Owner',
      now: agent.state === 'owner_left' ? '' : agent.owner.email,
      hint: 'The member who answers for it. It never exceeds their current role.',
      refused,
    })}
    ${selectField({
      name: 'ends',
      label: 'Expires',
      value: refused ? text(refused.form, 'ends') : '',
      options: [{ value: '', label: `On ${dateLabel(agent.expires_at)}, as now` }, ...EXPIRIES],
    })}`,
    submit: 'Save',
    kind: 'quiet',
  })
}

const endDialogs = (c: PageContext, agent: Agent) =>
  html`${
    agent.grant_id !== null &&
    confirmDialog(c, {
      id: 'disconnect',
      label: 'Disconnect',
      title: `Disconnect ${agent.name}?`,
      action: `${agentPath(agent.grant_id)}/disconnect`,
      text: 'It loses access on its next call and cannot come back. It stays listed here until you remove it.',
      submit: 'Disconnect machine agent',
    })
  }
  ${confirmDialog(c, {
    id: 'remove',
    label: 'Remove',
    title: `Remove ${agent.name}?`,
    action: `${machineAgentPath(agent.id)}/remove`,
    text: 'It loses access on its next call, and its credentials are deleted. What it did stays in activity and audit trail.',
    submit: 'Remove machine agent',
  })}`

async function update(c: PageContext) {
  const fields = c.get('form')
  const ends = EXPIRIES.find(({ value }) => value === text(fields, 'ends'))?.value
  const result = await attempt(async () => {
    const { user_id } = await findMember(c, 'owner', text(fields, 'owner'))
    return sessionOf(c).call(updateMachineAgent, {
      ...DETAILS.read(fields),
      ...routeInput(c, updateMachineAgent),
      owner_id: user_id,
      expires_at: ends && expiryIn(ends, c.var.deps.clock()),
    })
  })
  if ('problem' in result) return showOne(c, refuse(c, result.problem, DETAILS))
  return redirectWithMessage(c, herePath(c), 'Saved.')
}

async function addCredential(c: PageContext) {
  const byKey = isByKey(c.get('form'))
  const session = sessionOf(c)
  const { machine_agent_id } = routeInput(c, showMachineAgent)
  const result = await attempt(async () =>
    session.call(addMachineAgentCredential, {
      machine_agent_id,
      public_key: byKey ? readJwk(c.get('form')) : undefined,
    }),
  )
  if ('problem' in result) {
    if (byKey) return showOne(c, refuse(c, result.problem, KEY))
    setFlash(c, 'problem', result.problem.message)
    return c.redirect(machineAgentPath(machine_agent_id), 303)
  }
  const agent = await session.call(showMachineAgent, { machine_agent_id })
  return credentialCreated(c, byKey ? 'Public key added' : 'Secret added', agent, result.done.secret)
}

const rotateCredential = (c: PageContext) => {
  const session = sessionOf(c)
  const key = routeInput(c, rotateMachineAgentCredential)
  const byKey = c.get('form').has('public_key')
  return rotate(
    c,
    herePath(c),
    (chosen) =>
      session.call(rotateMachineAgentCredential, {
        ...key,
        ...chosen,
        public_key: byKey ? readJwk(c.get('form')) : undefined,
      }),
    async ({ secret }) => {
      const agent = await session.call(showMachineAgent, routeInput(c, showMachineAgent))
      return credentialCreated(c, byKey ? 'Public key rotated' : 'Secret rotated', agent, secret)
    },
  )
}

const revokeCredential = act(revokeMachineAgentCredential, {
  back: herePath,
  done: 'Credential revoked.',
})

async function remove(c: PageContext) {
  const result = await attempt(() => sessionOf(c).call(removeMachineAgent, routeInput(c, removeMachineAgent)))
  if ('problem' in result) setFlash(c, 'problem', result.problem.message)
  else setFlash(c, 'done', 'Machine agent removed.')
  return c.redirect(MACHINE_AGENTS_PATH, 303)
}
