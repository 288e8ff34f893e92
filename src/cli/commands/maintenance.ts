/** `svc apps maintenance run`. */
import { MAINTENANCE_WAIT_MAX_SECONDS } from '../../contracts/limits.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import { outcomeOf, RUN_REASONS } from '../../contracts/outcomes.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { refuseYaml } from '../follow-format.ts'
import { toServiceError } from '../format-error.ts'
import { formatJson, tableOf } from '../format-output.ts'
import { argument, isSet, textOption } from '../options.ts'
import { retryPause } from '../retry-pause.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

type MaintenanceRun = Output<'listMaintenanceRuns'>['runs'][number]

/** Its exit code is that of the outcome: it says what was found, or that the agent could not finish. */
export const startMaintenanceRun: Run = async (ctx, input) => {
  const [follow, async] = [isSet(input, 'follow'), isSet(input, 'async')]
  if (follow && async) throw usageError('--follow conflicts with --async', 'Remove one of them')
  if (follow) refuseYaml(ctx)
  const request: Input<'startMaintenanceRun'> = {
    alias: argument(input, 'app'),
    mode: 'manual',
    // Of its own if none is given.
    idempotency_key: textOption(input, 'idempotency-key') ?? `cli-${crypto.randomUUID()}`,
  }
  const created = await onceMore(ctx, () => ctx.callOperation('startMaintenanceRun', request))
  if (async) {
    ctx.print(created, runTable(created))
    ctx.info(`See it with: svc apps maintenance runs ${created.app}`)
    return 0
  }
  const report = follow ? followReport(ctx) : quietReport(ctx)
  report.created(created)
  const ended = await waitForEnd(ctx, created, report.changed)
  report.ended(ended)
  const exitCode = exitCodeOf(ended)
  if (exitCode === FOUND_FAILED) ctx.info(placeText(ended))
  return exitCode
}

/** A finding is more than a sentence. Without a host: which one the console has, the API does not know. */
const placeText = ({ app, execution_id }: MaintenanceRun): string =>
  `What it found, and the lines that show it, are in the console: /console/apps/${encodeURIComponent(app)}/maintenance/runs/${encodeURIComponent(execution_id)}`

/** Sent again once: its key is the same, so that it starts no second run. */
async function onceMore<T>(ctx: CommandContext, send: () => Promise<T>): Promise<T> {
  const pause = retryPause(ctx, { attempts: CREATE_ATTEMPTS })
  for (;;) {
    try {
      return await send()
    } catch (error) {
      // As many were started as may be in an hour: whoever asks is told now.
      if (toServiceError(error).code === 'RATE_LIMITED') throw error
      await pause.afterFailure(error)
    }
  }
}

const CREATE_ATTEMPTS = 2
/** About three minutes: a script does not hang because its server is gone for good. */
const WAIT_ATTEMPTS = 10

/** A server that restarts, or is busy, is asked again; whatever else fails ends the command with its own exit code. */
async function waitForEnd(
  ctx: CommandContext,
  created: MaintenanceRun,
  changed: (run: MaintenanceRun) => void,
): Promise<MaintenanceRun> {
  let run = created
  // The answer must come before the time limit of a request.
  const wait = Math.max(
    0,
    Math.min(MAINTENANCE_WAIT_MAX_SECONDS, Math.floor(ctx.settings.timeoutMs / 1000) - 5),
  )
  const pause = retryPause(ctx, { attempts: WAIT_ATTEMPTS, countsLimits: true })
  while (run.status !== 'ended') {
    try {
      const { app: alias, execution_id, status } = run
      const next = await ctx.callOperation('showMaintenanceRun', { alias, execution_id, wait, status })
      if (next.status !== run.status) changed(next)
      run = next
      pause.succeeded()
      if (wait === 0) await pause.briefly()
    } catch (error) {
      await pause.afterFailure(error)
    }
  }
  return run
}

/** What the server said; a code that neither of us knows is never a healthy result. */
const exitCodeOf = ({ exit_code, terminal_code, model }: MaintenanceRun): number =>
  exit_code ?? outcomeOf(terminal_code ?? '', model).exitCode

type Report = {
  readonly created: (run: Output<'startMaintenanceRun'>) => void
  readonly changed: (run: MaintenanceRun) => void
  readonly ended: (run: MaintenanceRun) => void
}

const quietReport = (ctx: CommandContext): Report => ({
  // Whoever interrupts it should know what goes on without them.
  created: (run) => ctx.info(createdText(run)),
  changed: () => {},
  ended: (run) => ctx.print(run, runTable(run)),
})

/** As JSON, an object a line: that it was created, what became of it, and at last exactly one summary. */
function followReport(ctx: CommandContext): Report {
  const isJson = ctx.settings.format === 'json'
  const write = (line: object, text: string) =>
    void ctx.environment.stdout.write(isJson ? formatJson(line, 0) : `${sanitizeLine(text)}\n`)
  return {
    created: ({ execution_id, app, status, created_at, replayed }) =>
      write(
        { event: 'execution_created', execution_id, app, status, created_at, replayed },
        createdText({ execution_id, replayed }),
      ),
    changed: ({ execution_id, status }) => {
      // That it ended is told by the summary.
      if (status !== 'ended') write({ event: 'status_changed', execution_id, status }, status)
    },
    ended: (run) => write({ event: 'summary', ...summaryOf(run) }, summaryText(run)),
  }
}

const createdText = ({
  execution_id,
  replayed,
}: Pick<Output<'startMaintenanceRun'>, 'execution_id' | 'replayed'>) =>
  `${execution_id} ${replayed ? 'was started before' : 'created'}`

const summaryOf = (run: MaintenanceRun) => ({
  execution_id: run.execution_id,
  terminal_code: run.terminal_code,
  outcome: run.outcome,
  exit_code: exitCodeOf(run),
  ...(run.proposal_id !== undefined && { proposal_id: run.proposal_id }),
  reason: run.reason,
  summary: run.summary,
  fingerprint: run.fingerprint,
  model: run.model,
  tokens: run.tokens,
})

function summaryText({ chip, reason, summary, proposal_id, tokens }: MaintenanceRun): string {
  const parts = [
    chip ?? 'Unrecognised result',
    reason && RUN_REASONS[reason],
    summary,
    proposal_id && `proposal ${proposal_id}`,
    `${tokens} tokens`,
  ]
  return parts.filter(Boolean).join('; ')
}

const runTable = (run: MaintenanceRun) =>
  tableOf([run], {
    EXECUTION: 'execution_id',
    STATUS: 'status',
    RESULT: 'chip',
    REASON: ({ reason }) => reason && RUN_REASONS[reason],
    PROPOSAL: 'proposal_id',
    TOKENS: 'tokens',
    SUMMARY: 'summary',
  })
