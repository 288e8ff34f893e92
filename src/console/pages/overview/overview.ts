/** The first page: the organization at a glance, what to do next, and how to call the API. */
import { html } from 'hono/html'
import { summarizeActivity } from '../../../contracts/activity.ts'
import { ERRORS, ServiceError } from '../../../contracts/errors.ts'
import { listAskableDataSources, listDataSources } from '../../../contracts/data-sources.ts'
import { listGrants } from '../../../contracts/grants.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listInvitations, listMembers } from '../../../contracts/members.ts'
import { showProfile } from '../../../contracts/people.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { listApiTokens } from '../../../contracts/tokens.ts'
import { icon } from '../../../pages/icons.ts'
import { page } from '../../layout.ts'
import { copyable, day, emptyState, roleBadge, ROLE_LABELS, stats } from '../../components.ts'
import { dayLabel } from '../../format.ts'
import { strip } from '../../../pages/strip.ts'
import { card, linkButton } from '../../../pages/parts.ts'
import {
  createRoutes,
  hasRole,
  sessionOf,
  type ConsoleSession,
  type Organization,
  type PageContext,
} from '../../context.ts'
import { QUEUE_PATH, unlessOff, unlessRefused } from '../maintenance/maintenance-labels.ts'
import { mayInvite } from '../members/invitations.ts'

export const overviewRoutes = () => createRoutes().get('/', showOverview)

async function showOverview(c: PageContext) {
  const session = sessionOf(c)
  const { organization } = session
  if (!organization) return withoutOrganization(c, session)
  const facts = await factsOf(session, organization, c.var.deps.clock())
  return page(c, {
    title: organization.name,
    lead: html`${roleBadge(organization.role)} ${ROLE_LABELS[organization.role].about}.`,
    body: html`
      ${stats('The organization at a glance', [
        {
          label: hasRole(session, 'admin') ? 'Questions today' : 'Your questions today',
          value: facts.questions.at(-1)?.value,
          note: strip(questionsText(facts.questions), facts.questions),
          href: '/console/activity?type=data_source',
        },
        {
          label: hasRole(session, 'developer') ? 'Exposed data sources' : 'Data sources',
          value: facts.sources,
          href: '/console/data-sources',
        },
        facts.toReview !== undefined && {
          label: 'Proposals to review',
          value: facts.toReview,
          href: QUEUE_PATH,
        },
        {
          label: 'Your agents',
          value: organization.agents_enabled ? facts.agents : 'Off',
          href: '/console/agents',
        },
        { label: 'Members', value: facts.members, href: '/console/members' },
        facts.invitations !== undefined && {
          label: 'Pending invitations',
          value: facts.invitations,
          href: '/console/members#about-invitations',
        },
        { label: 'Your API tokens', value: facts.tokens, href: '/console/settings/tokens' },
      ])}
      ${checklist(stepsFor(session, facts))} ${howToCall(c)}
      <p class="note">Organization <code>${organization.slug}</code> · Created ${day(organization.created_at)}</p>
    `,
  })
}

const withoutOrganization = (c: PageContext, session: ConsoleSession) =>
  page(c, {
    title: `Welcome, ${session.me.user.name}`,
    lead: 'You are signed in but not a member of an organization yet.',
    body: emptyState(
      'Create an organization, or wait for an invitation',
      html`To join an existing organization, ask a colleague to invite <strong>${session.me.user.email}</strong>, then open the
        link you receive.`,
      linkButton('/console/organizations/new', 'Create organization'),
    ),
  })

type Facts = Awaited<ReturnType<typeof factsOf>>

async function factsOf(session: ConsoleSession, organization: Organization, now: Date) {
  const org_id = organization.id
  const [members, owners, invitations, tokens, grants, profile, sources, questions, toReview] =
    await Promise.all([
      session.call(listMembers, { org_id }),
      session.call(listMembers, { org_id, role: 'owner', limit: 2 }),
      mayInvite(organization) ? session.call(listInvitations, { org_id }) : undefined,
      session.call(listApiTokens, {}),
      session.call(listGrants, {}),
      session.call(showProfile, {}),
      countSources(session),
      countQuestions(session, now),
      countToReview(session, org_id),
    ])
  return {
    members: countLabel(members.members, members.next_cursor),
    isAlone: members.members.length < 2,
    hasSecondOwner: owners.members.length > 1,
    invitations: invitations && countLabel(invitations.invitations, invitations.next_cursor),
    tokens: countLabel(tokens.tokens, tokens.next_cursor),
    agents: countLabel(grants.grants, grants.next_cursor),
    profile,
    sources,
    questions,
    toReview,
  }
}

/**
 * Undefined where the maintenance agent was never on. The page opens without the service that keeps proposals: whoever
 * comes to see what is wrong comes here first.
 */
async function countToReview(session: ConsoleSession, org_id: string): Promise<string | undefined> {
  try {
    const queue = await unlessRefused(unlessOff(session.call(listProposalQueue, { org_id })))
    return queue && countLabel(queue.proposals, queue.next_cursor)
  } catch (error) {
    if (error instanceof ServiceError && ERRORS[error.code].status >= 500) return 'Unavailable'
    throw error
  }
}

/** An organization has no more databases, and exposes no more of them, than one page holds. */
async function countSources(session: ConsoleSession): Promise<number> {
  if (!hasRole(session, 'developer')) {
    return (await session.call(listAskableDataSources, { limit: PAGE_MAX })).data_sources.length
  }
  const { data_sources } = await session.call(listDataSources, { limit: PAGE_MAX })
  return data_sources.filter(({ exposed }) => exposed).length
}

const DAYS = 7
const DAY_MS = 86_400_000

/** Days begin at midnight in UTC, as in the activity list; refused and failed ones are questions too. */
async function countQuestions(session: ConsoleSession, now: Date) {
  const days = Array.from({ length: DAYS }, (_, at) =>
    new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
  const from = `${days[0]}T00:00:00.000Z`
  const counted = (await session.call(summarizeActivity, { type: 'data_source', from })).days
  return days.map((day) => {
    const { answered, refused, failed } = counted.find((one) => one.day === day) ?? NO_QUESTIONS
    return { label: dayLabel(day), value: answered + refused + failed }
  })
}

const NO_QUESTIONS = { answered: 0, refused: 0, failed: 0 }

const questionsText = (days: readonly { value: number }[]): string =>
  `${days.reduce((sum, { value }) => sum + value, 0)} questions in ${DAYS} days`

/** Lists are paged and not counted: a full first page is "50+". */
const countLabel = (rows: readonly unknown[], next: string | undefined): string =>
  `${rows.length}${next ? '+' : ''}`

type Step = { label: string; why: string; href: string; isDone: boolean }

function stepsFor(session: ConsoleSession, facts: Facts): Step[] {
  const isInviting = facts.invitations !== undefined
  const steps: (Step | false)[] = [
    emailStep(facts.profile),
    isInviting && {
      label: 'Invite your team',
      why: 'Choose a role for each person, up to your own.',
      href: '/console/members#about-invite',
      isDone: !facts.isAlone || facts.invitations !== '0',
    },
    hasRole(session, 'owner') && {
      label: 'Add a second owner',
      why: 'The last owner cannot leave the organization.',
      href: '/console/members',
      isDone: facts.hasSecondOwner,
    },
    hasRole(session, 'admin') && {
      label: 'Expose a data source',
      why: 'Let members and their assistants query a database.',
      href: '/console/data-sources',
      isDone: facts.sources > 0,
    },
    {
      label: 'Create an API token',
      why: 'For scripts, with the role, scopes and expiration you choose.',
      href: '/console/settings/tokens/new',
      isDone: facts.tokens !== '0',
    },
    session.organization?.agents_enabled === true && {
      label: 'Connect an assistant',
      why: 'You approve its access and can change or revoke it at any time.',
      href: '/console/connect',
      isDone: facts.agents !== '0',
    },
  ]
  return steps.filter((step) => step !== false)
}

function emailStep({ email_verified, receives_mail, can_verify_email }: Facts['profile']): Step {
  if (email_verified || receives_mail) {
    return {
      label: 'Verify your email address',
      why: 'Makes sure that messages about your account reach you.',
      href: '/console/profile',
      isDone: email_verified || !can_verify_email,
    }
  }
  return {
    label: 'Add your email address',
    why: can_verify_email
      ? 'No mail can reach the address you sign in with. Add a real one, and confirm it by the link we send.'
      : 'No mail can reach the address you sign in with. Once the operator has set up a mail server, add a real one.',
    href: '/console/profile',
    isDone: false,
  }
}

function checklist(steps: readonly Step[]) {
  const open = steps.filter(({ isDone }) => !isDone).length
  return card(
    'Get started',
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
    open === 0 ? 'All done.' : `${steps.length - open} of ${steps.length} completed.`,
  )
}

function howToCall(c: PageContext) {
  const { apiUrl, appUrl } = c.var.deps
  const line = `curl -H "Authorization: Bearer $SVC_TOKEN" ${new URL('/api/v1/me', apiUrl ?? appUrl).href}`
  return card(
    'Call the API',
    copyable('curl', line, 'Command that calls the API'),
    html`Set <code>SVC_TOKEN</code> to an <a href="/console/settings/tokens">API token</a>. This command shows who you are.`,
  )
}
