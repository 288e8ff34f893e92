/**
 * The loop of pipelines as a process of its own, for tests that kill it. `pausing`: it stops right before it would commit,
 * and says so.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../db/connect.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { endOverdueRuns, finishPipelineRun, makeDueRuns } from '../../src/cores/pipelines/index.ts'
import { pauseBeforeCommit } from './pause-before-commit.ts'

export type PipelineWorkerSettings = {
  readonly url: string
  /** Its clock stands still. */
  readonly now: string
  readonly pausing?: true
  /** Instead of looping: a report of a run. */
  readonly report?: {
    readonly orgId: string
    readonly app: { readonly id: string; readonly alias: string }
    readonly run_id: string
    readonly fence: number
  }
}

const { url, now, pausing, report } = JSON.parse(process.argv[2]!) as PipelineWorkerSettings
const connection = await connect({ url }, { poolSize: 2 })
const db = pausing ? pauseBeforeCommit(connection.db) : connection.db
const clock = () => new Date(now)
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }

process.stdout.write('ready\n')
if (report) {
  const { orgId, app, run_id, fence } = report
  // Only what the verb reads of it.
  const principal = { kind: 'app_token', orgId, app: { id: app.id, scope: 'apps:report' } } as Principal
  const input = { alias: app.alias, run_id, fence, succeeded: true }
  await finishPipelineRun({ db, clock, directory: localDirectory(clock) })(principal, input)
}
const watch = { since: new Date(0) }
for (;;) {
  const done =
    (await makeDueRuns({ db, clock, log }, watch)) + (await endOverdueRuns({ db, clock, log }, watch))
  process.stdout.write(`done ${done}\n`)
  if (done === 0) await sleep(50)
}
