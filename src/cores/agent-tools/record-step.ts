/** What a run did, in order: digests for good, and the text of it sealed, for as long as transcripts are kept. */
import { createHash } from 'node:crypto'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { maintenanceRuns, runSteps } from '../../../db/schema.ts'
import { AGENT_LIMITS, type EvidenceRead, type ToolRefusal } from '../../contracts/agent-tools.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { Clock } from '../dependencies.ts'
import { evidenceInsert } from '../findings/index.ts'
import { heldLease, requireHeld, STOPPED_STEP, type RunKey } from '../maintenance/index.ts'

/** `UNSURE`: it finished without being able to tell. `NOTHING_THERE`: no log line, or no result of a check, was there to be read. */
export type StepResult = 'ok' | 'UNSURE' | 'NOTHING_THERE' | ToolRefusal

export type Step = {
  readonly tool: string
  readonly result: StepResult
  readonly request: string
  readonly answer: string
  readonly ms: number
}

export type StepDeps = { readonly clock: Clock; readonly dataKeys: DataKeys }

/**
 * A call with what it has shown. One statement, which asks for the lease as well: without it nothing is recorded, and
 * whoever calls hands nothing out. Steps that are sent at once take the same number, and one of them is refused.
 *
 * It does not wait for the disk: whatever refers to it (a finding, a proposal, the end) is written later and waits for
 * both, and after a crash before that there is nothing that could.
 */
export async function recordCall(
  db: Handle,
  deps: StepDeps,
  key: RunKey,
  step: Step,
  evidence: readonly EvidenceRead[],
): Promise<void> {
  const recorded = await insertCall(db, deps, key, step, evidence).catch((error: unknown) => {
    throw isTaken(error) ? new ServiceError('CONFLICT', 'Another call of this run is being made') : error
  })
  if (recorded.length > 0) return
  await requireHeld(db, key)
  throw outOfCalls()
}

function insertCall(
  db: Handle,
  deps: StepDeps,
  key: RunKey,
  step: Step,
  evidence: readonly EvidenceRead[],
): Promise<readonly { number: number }[]> {
  const { orgId, executionId } = key
  const [request, answer] = [digestOf(step.request), digestOf(step.answer)]
  const sealed = sealStep(deps.dataKeys, key, { ...step, requestSha256: request, resultSha256: answer })
  return db.execute<{ number: number }>(sql`
    with held as (${heldLease(key)}),
    run as (
      select 1 from ${maintenanceRuns} where org_id = ${orgId} and id = ${executionId} and status = 'running'
        and exists (select from held)
    ), before as (
      select coalesce(max(number), 0) as number,
        count(tool) filter (where number > ${lastStopped(orgId, executionId)}) as calls
      from ${runSteps} where org_id = ${orgId} and execution_id = ${executionId}
    ), step as (
      insert into ${runSteps}
        (org_id, execution_id, number, tool, result, request_sha256, result_sha256, ms, at, sealed_transcript)
      select ${orgId}, ${executionId}, before.number + 1, ${step.tool}::text, ${step.result}, ${request}, ${answer},
        ${String(step.ms)}::int, ${deps.clock().toISOString()}::timestamptz, ${sealed}
      from run, before where calls < ${sql.raw(String(AGENT_LIMITS.toolCalls))}
        and (select set_config('synchronous_commit', 'off', true)) = 'off'
      returning number
    )
    ${evidence.length === 0 ? sql`` : sql`, shown as (${evidenceInsert(deps, key, evidence, sql`exists (select from step)`)})`}
    select number from step`)
}

type StepRow = typeof runSteps.$inferSelect
type Digests = Pick<StepRow, 'requestSha256' | 'resultSha256'>

export const sealStep = (
  dataKeys: DataKeys,
  { orgId, executionId }: Pick<RunKey, 'orgId' | 'executionId'>,
  { request, answer, requestSha256, resultSha256 }: Digests & { request: string; answer: string },
): string =>
  dataKeys.seal(
    stepContext({ orgId, executionId, requestSha256, resultSha256 }),
    JSON.stringify({ request, answer }),
  )

const stepContext = (step: Digests & Pick<StepRow, 'orgId' | 'executionId'>): string =>
  `run step ${step.orgId} ${step.executionId} ${step.requestSha256} ${step.resultSha256}`

/** Null: it is not kept any more. */
export const openTranscript = (
  dataKeys: DataKeys,
  step: StepRow,
): { request: string; answer: string } | null =>
  step.sealedTranscript === null
    ? null
    : (JSON.parse(dataKeys.open(stepContext(step), step.sealedTranscript)) as {
        request: string
        answer: string
      })

/** The step that ended an earlier attempt at the run: only those after it count. */
export const lastStopped = (orgId: string, executionId: string) => sql<number>`(
  select coalesce(max(s.number), 0) from run_steps s
  where s.org_id = ${orgId} and s.execution_id = ${executionId} and s.result = ${STOPPED_STEP})`

export const outOfCalls = () => new ServiceError('CONFLICT', 'The run has made all its calls')

const UNIQUE_VIOLATION = '23505'
const DEADLOCK = '40P01'

/** Somebody else took the number at this moment; or, rarer still, the locks. Nothing was done. */
export const isTaken = (error: unknown): boolean =>
  hasCode(error, UNIQUE_VIOLATION) || hasCode(error, DEADLOCK)

function hasCode(error: unknown, code: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if ('code' in at && at.code === code) return true
  return false
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
