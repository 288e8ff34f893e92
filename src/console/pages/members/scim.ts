/** SCIM: what to enter at the directory, its bearer, and the roles that its groups give. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  createScimBearer,
  listProvisionedGroups,
  revokeScimBearer,
  rotateScimBearer,
  setGroupRole,
  showScim,
} from '../../../contracts/scim.ts'
import { button, card, linkButton, notice } from '../../../pages/parts.ts'
import { copyable, day, emptyState, listCard } from '../../components.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { act } from '../../act.ts'
import { formOf, partOf, refuse, type Refused } from '../../fields.ts'
import { attempt, confirmDialog, form, formCard, statusOf } from '../../forms.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { lastUsed, rotate, rotateDialog, tokenRotated } from '../../rotation.ts'
import { groupPath } from './group.ts'

const SCIM_PAGE = '/console/members/scim'

type Scim = z.output<typeof showScim.output>
type Bearer = NonNullable<Scim['bearer']>

const CREATE = formOf(createScimBearer, ['provider', 'tenant'])
const GROUPS = listOf(listProvisionedGroups)
const ROLE = partOf(setGroupRole.input, ['role'], {
  role: {
    options: [
      { value: 'none', label: 'No role' },
      { value: 'viewer', label: 'Viewer' },
      { value: 'developer', label: 'Developer' },
      { value: 'admin', label: 'Admin' },
    ],
  },
})

export const scimRoutes = () =>
  createRoutes()
    .get('/members/scim', (c) => show(c))
    .post('/members/scim', create)
    .post('/members/scim/rotate', rotateBearer)
    .post('/members/scim/remove', remove)
    .post('/members/scim/groups/:group_id/role', setRole)

async function show(c: PageContext, refused?: Refused) {
  requireRole(c, 'owner', 'Only owners can see SCIM')
  const session = sessionOf(c)
  const scim = await session.call(showScim, {})
  const mayChange = session.support === undefined
  return page(c, {
    title: 'SCIM',
    lead: 'Your directory, such as Microsoft Entra or Okta, adds people and groups, and ends their access.',
    status: statusOf(refused?.problem),
    body: scim.bearer
      ? html`${bearerCard(c, scim, scim.bearer, mayChange)} ${await groupList(c, mayChange)}`
      : setUp(c, scim, mayChange, refused),
  })
}

function setUp(
  c: PageContext,
  { domains, providers }: Scim,
  mayChange: boolean,
  refused: Refused | undefined,
) {
  if (domains.length === 0 || providers.length === 0) {
    const missing = domains.length === 0 ? 'an email domain' : 'a sign-in provider'
    return emptyState(
      `SCIM needs ${missing}`,
      domains.length === 0
        ? 'The operator gives your organization its email domains. Only people with an address there are accepted.'
        : 'The operator configures it. People whom your directory adds sign in with it.',
    )
  }
  const options = providers.map(({ name, title }) => ({ value: name, label: title }))
  const of = CREATE.show({ refused, with: { provider: { options } } })
  return (
    mayChange &&
    formCard(c, {
      of,
      title: 'Set up SCIM',
      lead: html`People with an address in ${domains.join(', ')} are accepted.`,
      action: SCIM_PAGE,
      submit: 'Create bearer',
    })
  )
}

const bearerCard = (
  c: PageContext,
  { base_url, domains, people }: Scim,
  bearer: Bearer,
  mayChange: boolean,
) =>
  card(
    'What your directory needs',
    html`<p>Tenant URL or base URL</p>
      ${copyable('base-url', base_url, 'Tenant URL or base URL')}
      <dl class="pairs pairs-narrow">
        <dt>Bearer</dt><dd><code>${bearer.starts_with}…</code>, created by ${bearer.created_by} on ${day(bearer.created_at)}</dd>
        <dt>Last used</dt><dd>${lastUsed(bearer.last_used_at, bearer.previous)}</dd>
        <dt>Sign-in provider</dt><dd>${bearer.provider} <span class="note">${bearer.issuer}</span></dd>
        <dt>Email domains</dt><dd>${domains.join(', ') || 'None'}</dd>
        <dt>People</dt><dd>${people.active} active, ${people.waiting} of them not signed in yet; ${people.inactive} inactive</dd>
      </dl>
      ${
        mayChange &&
        html`<div class="actions">${rotateDialog(c, { id: bearer.id, name: 'the SCIM bearer', action: `${SCIM_PAGE}/rotate` })}
        ${confirmDialog(c, {
          label: 'Remove SCIM',
          name: 'Remove SCIM',
          title: 'Remove SCIM?',
          action: `${SCIM_PAGE}/remove`,
          text: 'Its bearer ends at once. People, roles and groups stay as they are: from then on you change them yourself. Whoever has not signed in yet comes in no more.',
        })}</div>`
      }`,
  )

async function groupList(c: PageContext, mayChange: boolean) {
  const listed = await GROUPS.call(c, {})
  return listCard(c, {
    ...GROUPS.parts(c, listed),
    caption: 'Groups of your directory',
    columns: ['Group', 'People', 'Role'],
    rows: listed.groups.map(({ id, name, people, role }) => [
      html`<a href="${groupPath(id)}"><bdi>${name}</bdi></a>`,
      String(people),
      mayChange
        ? form(
            c,
            `${SCIM_PAGE}/groups/${encodeURIComponent(id)}/role`,
            html`${ROLE.show({ now: { role: role ?? 'none' } }).field('role', { id: `role-${id}`, label: `Role of ${name}` })}
            ${button('Save', 'quiet')}`,
            'inline',
          )
        : (role ?? 'No role'),
    ]),
    empty: emptyState(
      'No groups yet',
      'Your directory has sent none. A group can give a role, and rows can name it.',
    ),
  })
}

async function create(c: PageContext) {
  const input = CREATE.read(c.get('form'))
  const result = await attempt(() => sessionOf(c).call(createScimBearer, input))
  if ('problem' in result) return show(c, refuse(c, result.problem, CREATE))
  const { token, base_url } = result.done
  // Shown in this response and nowhere else: not in a cookie, not in an address.
  return page(c, {
    title: 'SCIM is set up',
    status: 201,
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy the bearer now.</strong> It is not stored and cannot be shown again.</p>`)}
      <p>Tenant URL or base URL</p>
      ${copyable('base-url', base_url, 'Tenant URL or base URL')}
      <p>Secret token or API token</p>
      ${copyable('token', token, 'SCIM bearer')}
      <div class="actions">${linkButton(SCIM_PAGE, 'Done')}</div>
    </div>`,
  })
}

const rotateBearer = (c: PageContext) =>
  rotate(
    c,
    SCIM_PAGE,
    (chosen) => sessionOf(c).call(rotateScimBearer, chosen),
    (done) => tokenRotated(c, { ...done, name: 'the SCIM bearer' }, SCIM_PAGE),
  )

const remove = act(revokeScimBearer, {
  back: SCIM_PAGE,
  done: 'SCIM removed. People, roles and groups stay as they are.',
})

const setRole = act(setGroupRole, { input: ROLE.read, back: SCIM_PAGE, done: 'Role saved.' })
