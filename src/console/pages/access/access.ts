/** Access: what a member, an API token or an agent reaches and why, and what a change would take before it is saved. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { showAccess } from '../../../contracts/access.ts'
import type { AccessBarrier } from '../../../contracts/access-reasons.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { listGrants } from '../../../contracts/grants.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { listApiTokens } from '../../../contracts/tokens.ts'
import { atLeast, type Role } from '../../../contracts/roles.ts'
import { SCOPE_LABELS } from '../../../contracts/scopes.ts'
import { button, card, linkButton, notice, type Content } from '../../../pages/parts.ts'
import {
  addressForm,
  badge,
  emptyState,
  filterSelect,
  memberOptions,
  pair,
  roleBadge,
  ROLE_LABELS,
  table,
} from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { form } from '../../forms.ts'
import { plural } from '../../format.ts'
import { page } from '../../layout.ts'
import { agentPath } from '../agents/agent-labels.ts'
import { clientLabel, clientOf } from '../agents/client-labels.ts'
import { roleAndAbove } from '../data-sources/source-labels.ts'

export const ACCESS_PATH = '/console/access'

export const accessRoutes = () => createRoutes().get('/access', showPage)

type Answer = z.output<typeof showAccess.output>
type Access = Answer['now']
type Change = { readonly now: Access; readonly after: Access }
type Asked = z.input<typeof showAccess.input>

/** What stands against reaching something, as a person would say it. */
const BARRIERS: Record<AccessBarrier, string> = {
  off: 'the data source is off',
  not_exposed: 'it is not exposed',
  not_granted: 'it is not among the data sources of this agent',
  minimum_role: 'the role is below its minimum role',
  scope: 'a scope is missing',
  role: 'the role is too low',
}

async function showPage(c: PageContext) {
  const asked = askedIn(c)
  const subjects = await subjectsFor(c)
  const isListed = subjects.agents.some(({ value }) => value === asked?.grant_id)
  const answer = asked && (await sessionOf(c).call(showAccess, asked).catch(unlessEnded(isListed)))
  return page(c, {
    title: 'Access',
    lead: `Which data sources, rows, apps and tools somebody reaches in ${organizationOf(c).name}, and why.`,
    body: html`${chooser(c, asked, subjects)} ${!asked ? nobodyChosen(c) : answer ? result(c, asked, answer, subjects) : REACHES_NOTHING}`,
  })
}

/** A grant that may be seen is listed as long as it lasts, also while none of its calls would be let in. */
const unlessEnded = (isListed: boolean) => (error: unknown) => {
  if (isListed && error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined
  throw error
}

const REACHES_NOTHING = emptyState(
  'This agent reaches nothing',
  'All its calls are refused. Its client may be blocked or gone, or agents, its identity provider or the machine agent turned off.',
)

/** The address says whom it is about, and what would be changed. */
function askedIn(c: PageContext): Asked | undefined {
  const query = new URL(c.req.url).searchParams
  const one = (name: string) => query.get(name) || undefined
  const [user_id, token_id, grant_id] = [one('user_id'), one('token_id'), one('grant_id')]
  const who = [user_id, token_id, grant_id].filter((id) => id !== undefined)
  if (who.length === 0) return undefined
  const several = (name: string) => (query.has(name) ? query.getAll(name) : undefined)
  const days = one('used_within_days')
  // Whatever is no id or no role is answered by the gateway, like an unknown one.
  return {
    user_id,
    token_id,
    grant_id,
    role: one('role'),
    scopes: several('scopes'),
    sources: several('sources'),
    ...(days !== undefined && { used_within_days: Number(days) }),
  } as Asked
}

/** Whom one may ask about. */
async function subjectsFor(c: PageContext) {
  const session = sessionOf(c)
  const isAdmin = hasRole(session, 'admin')
  const all = isAdmin ? 'true' : 'false'
  const [members, grants, tokens] = await Promise.all([
    isAdmin ? session.call(listMembers, { org_id: organizationOf(c).id, limit: PAGE_MAX }) : undefined,
    session.call(listGrants, { all, limit: PAGE_MAX }),
    session.call(listApiTokens, { all, limit: PAGE_MAX }),
  ])
  const { id, name, email } = session.me.user
  const people = members ? memberOptions(members.members) : [{ value: id, label: `${name} (${email})` }]
  const agents = grants.grants.map((grant) => ({
    value: grant.id,
    label: `${clientLabel(clientOf(grant))} · ${grant.user.name}`,
  }))
  const ofTokens = tokens.tokens.map((token) => ({ value: token.id, label: token.name }))
  return { people, agents, ofTokens }
}

type Subjects = Awaited<ReturnType<typeof subjectsFor>>

const chooser = (c: PageContext, asked: Asked | undefined, { people, agents, ofTokens }: Subjects) =>
  html`<div class="card">${addressForm(
    c,
    'Whose access',
    html`${filterSelect({ name: 'user_id', label: 'Member', value: asked?.user_id, all: 'None', options: people })}
      ${filterSelect({ name: 'grant_id', label: 'Agent', value: asked?.grant_id, all: 'None', options: agents })}
      ${filterSelect({ name: 'token_id', label: 'API token', value: asked?.token_id, all: 'None', options: ofTokens })}`,
    'Show',
  )}</div>`

const nobodyChosen = (c: PageContext) =>
  emptyState(
    'Whose access?',
    'Choose a member, an agent or an API token above. For each data source, app and tool it says whether it is reached, and what stands against it.',
    linkButton(`${ACCESS_PATH}?user_id=${sessionOf(c).me.user.id}`, 'Show my own', 'quiet'),
  )

const result = (c: PageContext, asked: Asked, { now, after, loses }: Answer, subjects: Subjects) =>
  html`${after && loses && lossNotice(loses, saveForm(c, asked, { now, after }, subjects))} ${summaryCard(now, after)} ${sourcesCard(now, after)} ${now.tools.length > 0 && toolsCard(now, after)}`

function lossNotice(loses: NonNullable<Answer['loses']>, save: Content) {
  const lines = [
    loses.sources.length > 0 && `${plural(loses.sources.length, 'data source')}: ${loses.sources.join(', ')}`,
    loses.rows.length > 0 && `rows of ${loses.rows.join(', ')}`,
    loses.apps > 0 && `source and log lines of ${plural(loses.apps, 'app')}`,
    loses.tools.length > 0 && `${plural(loses.tools.length, 'tool')}: ${loses.tools.join(', ')}`,
  ].filter((line) => line !== false)
  return notice(
    'info',
    html`<p><strong>${lines.length === 0 ? 'Nothing would be lost.' : 'Will lose:'}</strong></p>
      ${lines.length > 0 && html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`}
      ${save}`,
  )
}

/** The very form that was to be saved, with what it had: whoever follows somebody's link sees all that the button does. */
function saveForm(c: PageContext, asked: Asked, { now, after }: Change, { people }: Subjects): Content {
  const { user_id, grant_id, role, scopes, sources, used_within_days } = asked
  const hidden = (name: string, values: readonly string[]) =>
    values.map((value) => html`<input type="hidden" name="${name}" value="${value}" />`)
  if (user_id !== undefined && role !== undefined) {
    const person = people.find(({ value }) => value === user_id)?.label
    // What a higher role gives is not said here.
    if (person === undefined || atLeast(after.role, now.role)) return null
    const change = html`<p>${person}: ${roleBadge(now.role)} then ${roleBadge(after.role)}</p>`
    const fields = html`${hidden('role', [role])}${change}${button('Save role')}`
    return form(c, `/console/members/${user_id}/role`, fields, '')
  }
  // Each is saved by itself.
  const changes = [scopes, sources, used_within_days].filter((one) => one !== undefined)
  if (grant_id === undefined || changes.length !== 1) return null
  const path = agentPath(grant_id)
  if (used_within_days !== undefined) {
    const days = html`${hidden('used_within_days', [String(used_within_days)])}<p>Used within ${plural(used_within_days, 'day')}.</p>`
    return form(c, `${path}/narrow-to-used`, html`${days}${button('Narrow to what it used')}`, '')
  }
  if (scopes !== undefined)
    return form(c, `${path}/narrow`, html`${hidden('scopes', scopes)}${button('Save permissions')}`, '')
  const fields = html`${hidden('which', ['chosen'])}${hidden('sources', sources ?? [])}${button('Limit data sources')}`
  return form(c, `${path}/sources`, fields, '')
}

const isReached = (reached: boolean) => (reached ? badge('Yes', 'on') : badge('No', 'off'))

const whyOf = (why: readonly AccessBarrier[]): string => why.map((one) => BARRIERS[one]).join('; ')

/** What lets it: the same conditions, as they hold. */
const whyReached = ({ role, scopes }: Access, minimum?: Role): string =>
  [
    minimum !== undefined && `exposed to ${roleAndAbove(minimum)}`,
    `the role is ${ROLE_LABELS[role].label.toLowerCase()}`,
    scopes !== null && 'its scopes allow it',
  ]
    .filter((one) => one !== false)
    .join('; ')

const summaryCard = (now: Access, after: Access | null) =>
  card(
    'Role, scopes and apps',
    html`<dl class="pairs">
      ${pair('Role', html`${roleBadge(now.role)}${after && after.role !== now.role && html` then ${roleBadge(after.role)}`}`)}
      ${pair('Scopes', scopesOf(after ?? now))}
      ${pair('Apps', html`${now.apps.reached ? plural(now.apps.count, 'app') : 'None'} <span class="note">${now.apps.reached ? `source and log lines of ${(after ?? now).apps.readable}` : whyOf(now.apps.why)}</span>`)}
    </dl>`,
  )

const scopesOf = ({ scopes }: Access): string =>
  scopes === null ? 'Not limited by scopes' : scopes.map((scope) => SCOPE_LABELS[scope]).join(', ') || 'None'

const sourcesCard = (now: Access, after: Access | null) =>
  card(
    'Data sources',
    now.sources.length === 0
      ? html`<p>The organization has none yet.</p>`
      : table(
          'Data sources, and whether they are reached',
          ['Data source', 'Reached', ...(after ? ['Then'] : []), 'Rows', 'Why'],
          now.sources.map((source) => {
            const later = after?.sources.find(({ id }) => id === source.id)
            const shown = later ?? source
            return [
              html`${source.name} <code class="note">${source.source_id}</code>`,
              isReached(source.reached),
              ...(after ? [isReached(later?.reached ?? false)] : []),
              rowsOf(shown),
              shown.reached ? whyReached(after ?? now, shown.minimum_role) : whyOf(shown.why),
            ]
          }),
        ),
    undefined,
    'card-list',
  )

function rowsOf({ reached, rows, rows_of }: Access['sources'][number]) {
  if (!reached) return html`<span class="note">None</span>`
  if (rows === 'all') return 'All'
  return rows_of.length === 0
    ? 'None'
    : html`<span title="${rows_of.join(', ')}">Of ${rows_of.join(', ')}</span>`
}

const toolsCard = (now: Access, after: Access | null) =>
  card(
    'Tools',
    table(
      'Tools of the MCP endpoints, and whether they are reached',
      ['Tool', 'Reached', ...(after ? ['Then'] : []), 'Why'],
      now.tools.map((tool) => {
        const later = after?.tools.find(({ name }) => name === tool.name)
        return [
          html`<code>${tool.name}</code>`,
          isReached(tool.reached),
          ...(after ? [isReached(later?.reached ?? false)] : []),
          (later ?? tool).reached ? whyReached(after ?? now) : whyOf((later ?? tool).why),
        ]
      }),
    ),
    undefined,
    'card-list',
  )
