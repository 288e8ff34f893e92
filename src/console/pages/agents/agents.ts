/** Connected agents: which assistants act for whom, and since when. Each has a page of its own. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listGrants, type Grant as GrantShape } from '../../../contracts/grants.ts'
import { SCOPE_LABELS } from '../../../contracts/scopes.ts'
import { linkButton } from '../../../pages/parts.ts'
import { confirmDialog } from '../../forms.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { day, emptyState, ownerFilter, time, listCard } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { agentPath, agentsOffNotice, disconnectText, viaBadge } from './agent-labels.ts'
import { clientLabel, clientOf, verifiedBadge } from './client-labels.ts'
import { canQueryData } from './grant-sources.ts'

const GRANTS = listOf(listGrants, {
  search: { label: 'Agent or user' },
  client_id: { label: 'Client', all: 'All clients' },
})

type Grant = z.output<typeof GrantShape>

export const agentListRoutes = () => createRoutes().get('/agents', showAgents)

async function showAgents(c: PageContext) {
  const organization = organizationOf(c)
  const isAdmin = hasRole(sessionOf(c), 'admin')
  const { isAll, listed } = await listChosen(c, isAdmin)
  const parts = GRANTS.parts(c, listed, { client_id: clientOptions(listed.grants) })
  return page(c, {
    title: 'Connected agents',
    lead: `Assistants that act in ${organization.name} on ${isAll ? 'behalf of its members' : 'your behalf'}.`,
    actions: linkButton('/console/connect', 'Connect an assistant'),
    body: html`
      ${agentsOffNotice(organization)}
      ${listCard(c, {
        noun: 'agents',
        ...parts,
        filters: isAdmin && html`${ownerFilter(isAll, 'agents')} ${parts.filters}`,
        caption: 'Connected agents, newest first',
        columns: [
          'Agent',
          ...(isAll ? ['User'] : []),
          'Permissions',
          'Data sources',
          'Last used',
          'Expires',
          '(Actions)',
        ],
        rows: listed.grants.map((grant) => grantRow(c, grant, isAll)),
        empty: emptyList(isAll),
      })}
    `,
  })
}

/** Whoever administers and has connected none themselves comes for those of the others. */
async function listChosen(c: PageContext, isAdmin: boolean) {
  const isAll = isAdmin && c.req.query('all') === 'true'
  const listed = await GRANTS.call(c, { all: isAll ? 'true' : 'false' })
  const isUnasked = isAdmin && c.req.query('all') === undefined && !GRANTS.isFiltered(c)
  if (!isUnasked || listed.grants.length > 0) return { isAll, listed }
  return { isAll: true, listed: await GRANTS.call(c, { all: 'true' }) }
}

/** Those on the page: a list of all clients would cost as much as that of the agents, and the search finds the others. */
const clientOptions = (grants: readonly Grant[]) => [
  ...new Map(
    grants.map((grant) => [grant.client_id, { value: grant.client_id, label: clientLabel(clientOf(grant)) }]),
  ).values(),
]

const emptyList = (isAll: boolean) =>
  emptyState(
    isAll ? 'No connected assistants yet' : 'You have not connected an assistant yet',
    'Pick one and copy a command. You then choose what it can do, and it is listed here.',
    linkButton('/console/connect', 'Connect an assistant'),
  )

const permissionsOf = ({ scopes }: Grant): string => scopes.map((scope) => SCOPE_LABELS[scope]).join(', ')

function sourcesOf(grant: Grant) {
  const { sources } = grant
  if (!canQueryData(grant) || sources?.length === 0) return html`<span class="note">None</span>`
  if (sources === null) return 'All'
  const names = sources.map(({ name }) => name).join(', ')
  return html`<span title="${names}">${names}</span>`
}

function grantRow(c: PageContext, grant: Grant, isAll: boolean) {
  const called = clientLabel(clientOf(grant))
  const isMine = grant.user.id === sessionOf(c).me.user.id
  return [
    html`<a href="${agentPath(grant.id)}"><bdi>${called}</bdi></a> ${verifiedBadge(clientOf(grant))} ${viaBadge(grant.via)}`,
    ...(isAll
      ? [
          grant.via === 'machine'
            ? html`<span class="note">Nobody</span>`
            : html`<span title="${grant.user.email}">${grant.user.name}</span>`,
        ]
      : []),
    html`<span title="${permissionsOf(grant)}">${permissionsOf(grant)}</span>`,
    sourcesOf(grant),
    grant.last_used_at ? time(grant.last_used_at) : html`<span class="note">Never</span>`,
    day(grant.expires_at),
    html`<div class="row-actions">${confirmDialog(c, {
      label: 'Disconnect',
      name:
        isMine || grant.via === 'machine'
          ? `Disconnect ${called}`
          : `Disconnect ${called} of ${grant.user.name}`,
      title: 'Disconnect this agent?',
      action: `${agentPath(grant.id)}/disconnect`,
      text: disconnectText(grant, isMine),
      submit: 'Disconnect agent',
    })}</div>`,
  ]
}
