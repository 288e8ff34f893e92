/** One thing that is wrong, put together: each part by its own right, and nothing where none of it may be seen. */
import type { Handle } from '../../../db/connect.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { IncidentState } from '../../contracts/incident-steps.ts'
import { outcomeOf } from '../../contracts/outcomes.ts'
import { atLeast } from '../../contracts/roles.ts'
import { requireApp, type App } from '../apps/index.ts'
import { presentCheck, seesQuery, type Check, type ChecksDeps } from '../checks/index.ts'
import { findDeployment, findEarlier, findSucceededBy, presentDeployment } from '../deployments/index.ts'
import { presentFinding } from '../findings/index.ts'
import { readError, type ReadDeps } from '../logs/index.ts'
import { readAgent, type Run } from '../maintenance/index.ts'
import { presentProposalAbout, viewProposals } from '../proposals/index.ts'
import { codeOf } from '../transaction.ts'
import { read, type Verb } from '../verb.ts'
import { checksFor, findTrouble, type ErrorLines, type Trouble } from './find-trouble.ts'
import { firstLineOf, suggestCheck } from './suggest-check.ts'
import { timelineOf } from './timeline.ts'

export const showIncident: Verb<'showIncident', ChecksDeps & Pick<ReadDeps, 'logReads'>> = read(
  async (context, { alias, incident_id }) => {
    const { db, clock, member, directory, judge, logReads } = context
    const { app, role, appRole } = await requireApp(directory, db, member, alias)
    const now = clock()
    const isStaff = member.supportSessionId !== undefined
    const readsLog = !isStaff && (appRole !== null || (role !== null && atLeast(role, 'developer')))
    const viewing = await unlessOff(viewProposals(context, member, alias))
    const seen = { readsLog, seesFindings: viewing !== undefined }
    const trouble = await findTrouble(db, app, incident_id, seen)
    const reader = { db, logReads, signal: member.signal, userId: member.userId }
    const isOfLog = trouble.finding === undefined && trouble.check === undefined
    const read = trouble.error
      ? await readError(reader, app, trouble.error, now).catch((error: unknown) => {
          // The rest is known without it.
          if (isOfLog || !isTooSlow(error)) throw error
          return 'too slow' as const
        })
      : undefined
    const isTimedOut = read === 'too slow'
    const log = isTimedOut ? null : (read ?? null)
    // A group of which no line is kept any more, or that was never there.
    if (log === null && isOfLog) throw notFound()

    const finding =
      trouble.finding && viewing ? presentFinding(trouble.finding, app, viewing.readsSource) : null
    const proposal =
      finding && viewing ? await presentProposalAbout(db, app, finding.fingerprint, viewing) : null
    const shown = { now, seesQuery: seesQuery(member, appRole !== null) }
    const found = await checksFor(db, app, trouble, log)
    const checks = await Promise.all(found.map((one) => presentCheck({ judge, db }, one, shown)))
    const beganAt = beginningOf(trouble, log)
    const deployments = await readDeployments(db, app, beganAt, proposal?.deployment_id ?? null)
    const agent = await readAgent(db, app, now)
    const run = presentLatest(agent.latest, beganAt)
    // What has no scope is closed to whatever has scopes; changes of an app are closed to support staff.
    const mayWrite = appRole !== null && member.scopes === null && !isStaff
    const mayStart = member.scopes === null || member.scopes.includes('maintenance:run')
    const isCovered = found.some(({ definition }) => definition.kind === 'logs')
    return {
      id: finding?.id ?? log?.group_id ?? incident_id,
      app: alias,
      title: titleOf(log, finding, trouble.check),
      state: stateOf(trouble, log !== null || isTimedOut),
      log,
      log_timed_out: isTimedOut,
      finding,
      proposal,
      deployments,
      checks,
      suggested_check: log === null || isCovered ? null : suggestCheck(log),
      run,
      can: {
        create_check: mayWrite,
        start_run:
          role !== null &&
          atLeast(role, 'admin') &&
          !isStaff &&
          mayStart &&
          agent.isOn &&
          agent.from === undefined &&
          agent.latest?.status !== 'queued' &&
          agent.latest?.status !== 'running',
        roll_back: mayWrite && deployments.roll_back_to !== null,
      },
      run_from: agent.from?.toISOString() ?? null,
      timeline: timelineOf({ log, finding, proposal, deployments, checks, run }),
    }
  },
)

/** Where the agent was never on there is nothing that it found. */
const unlessOff = <T>(viewing: Promise<T>): Promise<T | undefined> =>
  viewing.catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'MAINTENANCE_AGENT_NOT_FOUND') return undefined
    throw error
  })

/** Of a log with too many lines, or behind too many who read it. */
const isTooSlow = (error: unknown): boolean => ['57014', 'TIMEOUT'].includes(codeOf(error))

/** When the first part of it was seen. */
function beginningOf({ finding, check }: Trouble, log: ErrorLines | null): Date | null {
  const times = [
    log && new Date(log.first_at),
    finding?.firstFoundAt,
    check && check.state !== 'pass' ? check.stateSince : null,
  ].filter((time) => time instanceof Date)
  return times.length === 0 ? null : new Date(Math.min(...times.map((time) => time.getTime())))
}

async function readDeployments(db: Handle, app: App, beganAt: Date | null, fixId: string | null) {
  const before = beganAt === null ? undefined : await findSucceededBy(db, app, beganAt)
  const fix = fixId === null ? undefined : await findDeployment(db, app, fixId)
  const earlier = await findEarlier(db, app)
  return {
    before: before ? presentDeployment(before) : null,
    fix: fix ? presentDeployment(fix) : null,
    roll_back_to: earlier?.revisionId ?? null,
  }
}

/** A run that began before it says nothing about it. */
const presentLatest = (run: Run | undefined, beganAt: Date | null) =>
  run === undefined || (beganAt !== null && run.createdAt < beganAt)
    ? null
    : {
        execution_id: run.id,
        status: run.status,
        chip: run.terminalCode === null ? null : outcomeOf(run.terminalCode, run.model).chip,
        requested_by: run.requestedBy,
        created_at: run.createdAt.toISOString(),
      }

const TITLE_MAX = 160

function titleOf(
  log: ErrorLines | null,
  finding: { readonly id: string; readonly summary: string | null } | null,
  check: Check | undefined,
): string {
  const said = (log?.lines[0] && firstLineOf(log.lines[0].text)) ?? finding?.summary ?? check?.name
  if (said === undefined) return `Finding ${finding?.id.slice(-6)}`
  const letters = [...said]
  return letters.length > TITLE_MAX ? `${letters.slice(0, TITLE_MAX - 1).join('')}…` : said
}

const FINDING_STATE = { open: 'open', proposed: 'open', quiet: 'quiet', resolved: 'resolved' } as const

/** What fails now is not over, whatever became of its finding. */
function stateOf({ finding, check }: Trouble, mayBeInLog: boolean): IncidentState {
  if (check?.state === 'fail') return 'open'
  if (finding) return FINDING_STATE[finding.state]
  return check?.state === 'pass' && !mayBeInLog ? 'resolved' : 'open'
}
