/**
 * interface.md, Events 1: events follow transitions. One alert, however many nights and whatever the cause is called next;
 * then one recovery.
 */
import type { Transaction } from '../../../db/connect.ts'
import { pipelines } from '../../../db/schema.ts'
import type { EventType } from '../../contracts/events.ts'
import { PIPELINE_TROUBLES, type PipelineTrouble } from '../../contracts/pipeline-states.ts'
import type { Clock } from '../dependencies.ts'
import { recordEvent } from '../outbox.ts'
import { hasPipelineKey, type Pipeline } from './pipeline-rows.ts'

/** What a run may cause, whatever its outcome is. */
export const TROUBLE_EVENTS = [
  'pipeline.run.recovered',
  ...PIPELINE_TROUBLES.map((trouble) => `pipeline.run.${trouble}` as const),
] as const satisfies readonly EventType[]

export type RunOutcome = 'succeeded' | PipelineTrouble

export type TroubleState = {
  readonly trouble: PipelineTrouble | null
  /** What was told since a run last succeeded: nothing else is, until one does. */
  readonly told: readonly PipelineTrouble[]
}

type TroubleChange = TroubleState & { readonly event: EventType | null }

/** Undefined: nothing changes. */
export function changeTrouble(
  { trouble, told }: TroubleState,
  outcome: RunOutcome,
): TroubleChange | undefined {
  if (outcome === 'succeeded') {
    return trouble === null ? undefined : { trouble: null, told: [], event: 'pipeline.run.recovered' }
  }
  if (told.length === 0) {
    return { trouble: outcome, told: [outcome], event: `pipeline.run.${outcome}` }
  }
  return trouble === outcome ? undefined : { trouble: outcome, told, event: null }
}

/** In the transaction of the run's end, under the lock of its pipeline. */
export async function recordOutcome(
  tx: Transaction,
  clock: Clock,
  pipeline: Pipeline,
  runId: string,
  outcome: RunOutcome,
): Promise<void> {
  // One that is off or has no schedule never alerts; what it was in stays, until it runs by schedule again.
  if (!pipeline.enabled || pipeline.cron === null) return
  const change = changeTrouble(pipeline, outcome)
  if (!change) return
  const { trouble, told, event } = change
  const eventSeq = pipeline.eventSeq + (event === null ? 0 : 1)
  await tx.update(pipelines).set({ trouble, told, eventSeq }).where(hasPipelineKey(pipeline))
  if (event === null) return
  await recordEvent(tx, clock, {
    orgId: pipeline.orgId,
    type: event,
    subject: `pipelines/${pipeline.id}`,
    source: 'pipelines',
    dedupKey: `${pipeline.id}:${eventSeq}`,
    // An outcome: told to everybody, whoever started the run.
    actorId: null,
    appId: pipeline.appId,
    data: { pipeline_id: pipeline.id, run_id: runId },
  })
}
