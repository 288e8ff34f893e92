/** What the overview shows, asked for all at once. */
import type * as z from 'zod'
import { summarizeActivity } from '../../../contracts/activity.ts'
import { summarizeApps } from '../../../contracts/app-summaries.ts'
import { ERRORS, ServiceError } from '../../../contracts/errors.ts'
import { listAskableDataSources, listDataSources } from '../../../contracts/data-sources.ts'
import { listGrants } from '../../../contracts/grants.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { showProfile } from '../../../contracts/people.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { atLeast } from '../../../contracts/roles.ts'
import { SAMPLE_SOURCE } from '../../../contracts/sample.ts'
import { hasRole, type ConsoleSession, type Organization } from '../../context.ts'
import { unlessOff, unlessRefused } from '../maintenance/maintenance-labels.ts'
import { mayInvite } from '../members/invitations.ts'
import { readIntegrations } from './read-integrations.ts'

export type Facts = Awaited<ReturnType<typeof factsOf>>
export type CallDay = { day: string; calls: number; questions: number; refused: number }
export const functionsOf = ({ calls, questions }: CallDay): number => calls - questions
export type ActiveAgent = NonNullable<z.output<typeof summarizeActivity.output>['agents']>[number]

export async function factsOf(session: ConsoleSession, organization: Organization, now: Date) {
  const org_id = organization.id
  const isAdmin = hasRole(session, 'admin')
  const [profile, unread, calls, grants, sources, integrations, toReview, failingChecks, members] =
    await Promise.all([
      session.call(showProfile, {}),
      session.unread,
      countCalls(session, now),
      session.call(listGrants, { all: String(isAdmin), limit: 1, count: 'true' }),
      sourcesOf(session, organization),
      isAdmin ? readIntegrations(session.call) : undefined,
      countToReview(session, org_id),
      failingChecksOf(session),
      mayInvite(organization) ? session.call(listMembers, { org_id, limit: 2 }) : undefined,
    ])
  return {
    profile,
    unread,
    ...calls,
    agentCount: grants.total ?? 0,
    sources,
    integrations,
    toReview,
    failingChecks,
    isAlone: members !== undefined && members.members.length < 2,
  }
}

/** The page opens without the service that keeps proposals: whoever comes to see what is wrong comes here first. */
async function countToReview(session: ConsoleSession, org_id: string): Promise<number | 'unavailable'> {
  try {
    const asked = session.call(listProposalQueue, { org_id, limit: 1, count: 'true' })
    const { proposals: [first] = [], total = 0 } = (await unlessRefused(unlessOff(asked))) ?? {}
    // Off again, what it proposed before is there to be read.
    return first?.decision.reasons.approve.some(({ code }) => code === 'MAINTENANCE_OFF') ? 0 : total
  } catch (error) {
    if (isAway(error)) return 'unavailable'
    throw error
  }
}

const isAway = (error: unknown): boolean => error instanceof ServiceError && ERRORS[error.code].status >= 500

/** As many as the page of apps shows at first. */
const APPS_LOOKED_AT = 50

/** That the service which keeps them is away is said beside proposals. */
async function failingChecksOf(session: ConsoleSession) {
  try {
    const { apps = [] } = (await unlessRefused(session.call(summarizeApps, { limit: APPS_LOOKED_AT }))) ?? {}
    return apps.flatMap(({ alias, name, checks }) =>
      checks
        .filter(({ enabled, state }) => enabled && state === 'fail')
        .map((check) => ({ id: check.id, name: check.name, app: { alias, name } })),
    )
  } catch (error) {
    if (isAway(error)) return []
    throw error
  }
}

const DAYS = 7
const DAY_MS = 86_400_000

/** Days begin at midnight in UTC, as in the activity list; refused and failed ones are calls too. */
async function countCalls(session: ConsoleSession, now: Date) {
  const days = Array.from({ length: DAYS }, (_, at) =>
    new Date(now.getTime() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  )
  const from = `${days[0]}T00:00:00.000Z`
  const counted = await session.call(summarizeActivity, { type: 'all', from, agents: 'true' })
  return {
    agents: counted.agents ?? [],
    days: days.map((day): CallDay => {
      const one = counted.days.find((counts) => counts.day === day)
      if (!one) return { day, calls: 0, questions: 0, refused: 0 }
      const { answered, refused, failed, questions } = one
      return { day, calls: answered + refused + failed, questions, refused }
    }),
  }
}

/** Only developers may list every data source; an organization has no more of them than one page holds. */
async function sourcesOf(session: ConsoleSession, { role }: Organization) {
  if (!hasRole(session, 'developer')) {
    const { data_sources } = await session.call(listAskableDataSources, { limit: PAGE_MAX })
    return summaryOf(
      data_sources.length,
      data_sources.map(({ id }) => id),
      [],
    )
  }
  const { data_sources } = await session.call(listDataSources, { limit: PAGE_MAX })
  const exposed = data_sources.filter((one) => one.exposed)
  const askable = exposed.filter(({ minimum_role }) => atLeast(role, minimum_role))
  return summaryOf(
    exposed.length,
    askable.map(({ source_id }) => source_id),
    data_sources.filter(({ enabled, health }) => enabled && health.problems.length > 0),
  )
}

type Troubled = { source_id: string; name: string; health: { problems: readonly { text: string }[] } }

const summaryOf = (exposed: number, askable: readonly string[], troubled: readonly Troubled[]) => ({
  exposed,
  canAsk: askable.length > 0,
  hasSample: askable.includes(SAMPLE_SOURCE),
  troubled: troubled.map(({ source_id, name, health }) => ({
    source_id,
    name,
    problem: health.problems[0]?.text ?? '',
  })),
})
