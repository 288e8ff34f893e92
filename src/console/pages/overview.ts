/** The first page: the organization at a glance, what to do next, and how to call the API. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import { summarizeActivity } from '../../contracts/activity.ts'
import { listAskableSources, listDataSources } from '../../contracts/data-sources.ts'
import { listGrants } from '../../contracts/grants.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { listInvitations, listMembers } from '../../contracts/members.ts'
import { showProfile } from '../../contracts/people.ts'
import { listTokens } from '../../contracts/tokens.ts'
import { icon } from '../../pages/icons.ts'
import { page } from '../layout.ts'
import { copyable, day, emptyState, roleBadge, ROLE_WORDS } from '../parts.ts'
import { card, linkButton, type Content } from '../../pages/parts.ts'
import { hasRole, visitOf, type ConsoleEnv, type Organization, type Visit } from '../visit.ts'
import { mayInvite } from './may-invite.ts'

type C = Context<ConsoleEnv>

export const overviewPages = () => new Hono<ConsoleEnv>().get('/', showOverview)

async function showOverview(c: C) {
  const visit = visitOf(c)
  const { organization } = visit
  if (!organization) return withoutOrganization(c, visit)
  const facts = await factsOf(visit, organization, c.var.needs.clock())
  return page(c, {
    title: organization.name,
    lead: html`${roleBadge(organization.role)} ${ROLE_WORDS[organization.role].about}.`,
    body: html`
      <dl class="facts">
        ${fact('Members', facts.members, '/console/members')}
        ${facts.invitations !== undefined && fact('Waiting invitations', facts.invitations, '/console/members#about-invitations')}
        ${fact(hasRole(visit, 'developer') ? 'Exposed data sources' : 'Data sources for you', facts.sources, '/console/data-sources')}
        ${fact(hasRole(visit, 'admin') ? 'Questions today' : 'Your questions today', facts.questions, '/console/activity?type=data_source')}
        ${fact('Your API tokens', facts.tokens, '/console/settings/tokens')}
        ${fact('Your agents', organization.agents_enabled ? facts.agents : 'Off', '/console/agents')}
      </dl>
      ${checklist(stepsFor(visit, facts))} ${howToCall(c)}
      <p class="note">${organization.name} (<code>${organization.slug}</code>) exists since ${day(organization.created_at)}.</p>
    `,
  })
}

const withoutOrganization = (c: C, visit: Visit) =>
  page(c, {
    title: `Welcome, ${visit.me.user.name}`,
    lead: 'You are signed in, but you belong to no organization yet.',
    body: emptyState(
      'Create an organization, or wait for an invitation',
      html`Everything here happens inside an organization. If a colleague has one, ask them to invite
        <strong>${visit.me.user.email}</strong> and open the link you get.`,
      linkButton('/console/organizations/new', 'Create an organization'),
    ),
  })

type Facts = Awaited<ReturnType<typeof factsOf>>

async function factsOf(visit: Visit, organization: Organization, now: Date) {
  const org_id = organization.id
  const [members, owners, invitations, tokens, grants, profile, sources, questions] = await Promise.all([
    visit.call(listMembers, { org_id }),
    visit.call(listMembers, { org_id, role: 'owner', limit: 2 }),
    mayInvite(organization) ? visit.call(listInvitations, { org_id }) : undefined,
    visit.call(listTokens, {}),
    visit.call(listGrants, {}),
    visit.call(showProfile, {}),
    countSources(visit),
    countQuestions(visit, now),
  ])
  return {
    members: countish(members.members, members.next_cursor),
    isAlone: members.members.length < 2,
    hasSecondOwner: owners.members.length > 1,
    invitations: invitations && countish(invitations.invitations, invitations.next_cursor),
    tokens: countish(tokens.tokens, tokens.next_cursor),
    agents: countish(grants.grants, grants.next_cursor),
    isVerified: profile.email_verified || !profile.can_verify_email,
    sources,
    questions,
  }
}

/** An organization has no more databases, and exposes no more of them, than one page holds. */
async function countSources(visit: Visit): Promise<number> {
  if (!hasRole(visit, 'developer')) {
    return (await visit.call(listAskableSources, { limit: PAGE_MAX })).data_sources.length
  }
  const { data_sources } = await visit.call(listDataSources, { limit: PAGE_MAX })
  return data_sources.filter(({ exposed }) => exposed).length
}

/** Since midnight in UTC, which is when the day of the activity list begins; refused and failed ones are questions too. */
async function countQuestions(visit: Visit, now: Date): Promise<number> {
  const from = `${now.toISOString().slice(0, 10)}T00:00:00.000Z`
  const { days } = await visit.call(summarizeActivity, { type: 'data_source', from })
  return days.reduce((sum, { answered, refused, failed }) => sum + answered + refused + failed, 0)
}

/** Lists are paged and not counted: a full first page is "50+". */
const countish = (rows: readonly unknown[], next: string | undefined): string =>
  `${rows.length}${next ? '+' : ''}`

const fact = (label: string, value: Content, href: string) =>
  html`<div class="fact"><dt><a href="${href}">${label}</a></dt><dd>${value}</dd></div>`

type Step = { label: string; why: string; href: string; isDone: boolean }

function stepsFor(visit: Visit, facts: Facts): Step[] {
  const isInviting = facts.invitations !== undefined
  const steps: (Step | false)[] = [
    {
      label: 'Verify your e-mail address',
      why: 'So that messages about your account reach you and nobody else.',
      href: '/console/profile',
      isDone: facts.isVerified,
    },
    isInviting && {
      label: 'Invite the people you work with',
      why: 'Each gets a role; nobody gets more than you have.',
      href: '/console/members#about-invite',
      isDone: !facts.isAlone || facts.invitations !== '0',
    },
    hasRole(visit, 'owner') && {
      label: 'Name a second owner',
      why: 'The last owner cannot leave. Two of you can go on holiday.',
      href: '/console/members',
      isDone: facts.hasSecondOwner,
    },
    hasRole(visit, 'admin') && {
      label: 'Expose a data source',
      why: 'A database that members and their assistants can ask, from the role on that you choose.',
      href: '/console/data-sources',
      isDone: facts.sources > 0,
    },
    {
      label: 'Make an API token',
      why: 'For scripts: with a role, scopes and an expiry of your choosing.',
      href: '/console/settings/tokens/new',
      isDone: facts.tokens !== '0',
    },
    visit.organization?.agents_enabled === true && {
      label: 'Connect an assistant',
      why: 'It asks you first, and you can narrow or end what you allowed at any time.',
      href: '/console/connect',
      isDone: facts.agents !== '0',
    },
  ]
  return steps.filter((step) => step !== false)
}

function checklist(steps: readonly Step[]) {
  const open = steps.filter(({ isDone }) => !isDone).length
  return card(
    'What to do next',
    html`<ul class="steps">
      ${steps.map(
        ({ label, why, href, isDone }) => html`<li class="${isDone ? 'step step-done' : 'step'}">
          <span class="step-mark">${isDone && icon('check')}</span>
          <div>
            ${isDone ? html`<span class="step-label">${label}<span class="unseen"> (done)</span></span>` : html`<a class="step-label" href="${href}">${label}</a>`}
            <p class="note">${why}</p>
          </div>
        </li>`,
      )}
    </ul>`,
    open === 0 ? 'All done. You are well set up.' : `${steps.length - open} of ${steps.length} done.`,
  )
}

function howToCall(c: C) {
  const { apiUrl, appUrl } = c.var.needs
  const line = `curl -H "Authorization: Bearer $SVC_TOKEN" ${new URL('/api/v1/me', apiUrl ?? appUrl).href}`
  return card(
    'Call the API',
    copyable('curl', line, 'A command that calls the API'),
    html`Put the value of an <a href="/console/settings/tokens">API token</a> into <code>SVC_TOKEN</code>; this asks who you are.`,
  )
}
