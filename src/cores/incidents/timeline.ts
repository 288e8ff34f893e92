/** Who did what when, read off what each part knows of itself. Pure. */
import type * as z from 'zod'
import { INCIDENT_STEPS, type IncidentStep } from '../../contracts/incident-steps.ts'
import type { showIncident } from '../../contracts/incidents.ts'

type Incident = z.output<typeof showIncident.output>
type Parts = Pick<Incident, 'log' | 'finding' | 'proposal' | 'deployments' | 'checks' | 'run'>
type Step = Omit<Incident['timeline'][number], 'text'>

const AGENT = 'Maintenance agent'

export function timelineOf(parts: Parts): Incident['timeline'] {
  return [...logSteps(parts), ...findingSteps(parts), ...proposalSteps(parts), ...checkSteps(parts)]
    .toSorted((a, b) =>
      a.at === b.at ? ORDER.indexOf(a.step) - ORDER.indexOf(b.step) : a.at < b.at ? -1 : 1,
    )
    .map(({ step, ...rest }) => ({ ...rest, step, text: INCIDENT_STEPS[step] }))
}

/** Of what happened at the same moment the cause comes first. */
const ORDER = Object.keys(INCIDENT_STEPS) as IncidentStep[]

const stepOf = (
  step: IncidentStep,
  at: string | null | undefined,
  by: string | null = null,
  id: string | null = null,
): Step[] => (at === null || at === undefined ? [] : [{ step, at, by, id }])

function logSteps({ log, deployments: { before } }: Parts): Step[] {
  return [
    ...stepOf('deployed_before', before?.ended_at, before?.requested_by, before?.id),
    ...stepOf('first_logged', log?.first_at),
    ...stepOf('last_logged', log !== null && log.count > 1 ? log.last_at : null),
  ]
}

function findingSteps({ finding, run }: Parts): Step[] {
  const asked =
    run?.requested_by == null
      ? []
      : stepOf('run_requested', run.created_at, run.requested_by, run.execution_id)
  if (finding === null) return asked
  const again = finding.times_found > 1 ? finding.last_found_at : null
  return [
    ...asked,
    ...stepOf('first_found', finding.first_found_at, AGENT, finding.id),
    ...stepOf('found_again', again, AGENT, finding.id),
  ]
}

const ENDS = {
  succeeded: 'fix_deployed',
  failed: 'fix_failed',
  cancelled: 'fix_cancelled',
} as const satisfies Record<string, IncidentStep>

function proposalSteps({ proposal, deployments: { fix } }: Parts): Step[] {
  if (proposal === null) return []
  const { decided, id } = proposal
  const ended = fix && fix.state in ENDS ? ENDS[fix.state as keyof typeof ENDS] : undefined
  return [
    ...stepOf('fix_proposed', proposal.created_at, proposal.author, id),
    ...(decided ? stepOf(decided.approved ? 'fix_approved' : 'fix_denied', decided.at, decided.by, id) : []),
    ...stepOf('fix_queued', fix?.requested_at, fix?.requested_by, fix?.id),
    ...(ended ? stepOf(ended, fix?.ended_at, fix?.runner, fix?.id) : []),
    ...stepOf('came_back', proposal.effect?.came_back_at),
  ]
}

const checkSteps = ({ checks }: Parts): Step[] =>
  checks.flatMap(({ id, name, state, state_since }) => {
    if (state === 'fail') return stepOf('check_failed', state_since, name, id)
    return state === 'pass' ? stepOf('check_passed', state_since, name, id) : []
  })
