/** `svc apps deploy`, and what else is done with deployments. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { refuseYaml } from '../follow-format.ts'
import { formatJson, tableOf } from '../format-output.ts'
import { argument, isSet, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { sanitizeLines } from '../terminal-text.ts'

type Deployment = Output<'showDeployment'>

const deploymentOf = (input: CommandInput) => ({
  alias: argument(input, 'app'),
  deployment_id: argument(input, 'deployment_id'),
})

export const createDeployment: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const created = await ctx.callOperation('createDeployment', {
    alias,
    revision_id: argument(input, 'revision_id'),
  })
  ctx.print(created, table([created]))
  ctx.info(`Follow it with: svc apps deployments output ${alias} ${created.id} --follow`)
}

export const listDeployments: Run = async (ctx, input) => {
  const filters = {
    alias: argument(input, 'app'),
    state: textOption(input, 'state') as Input<'listDeployments'>['state'],
  }
  const found = await readPages(ctx, input, 'listDeployments', 'deployments', filters)
  ctx.print(found, table(found.deployments))
  const lost = found.deployments.find(({ blocks_next }) => blocks_next)
  if (lost) {
    ctx.info(
      `The runner of ${lost.id} was lost. Once its command has ended: svc apps deployments confirm-ended ${filters.alias} ${lost.id}`,
    )
  }
}

export const rollBackDeployment: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  await confirm(
    ctx,
    input,
    `This deploys the revision of ${alias} that succeeded before the last deployment. A second one goes forward again.`,
  )
  const created = await ctx.callOperation('rollBackDeployment', { alias })
  ctx.print(created, table([created]))
}

export const cancelDeployment: Run = async (ctx, input) => {
  const cancelled = await ctx.callOperation('cancelDeployment', deploymentOf(input))
  ctx.print(cancelled, table([cancelled]))
  if (cancelled.state === 'running') ctx.info('Its runner stops the command with its next report.')
}

export const confirmDeploymentEnded: Run = async (ctx, input) => {
  await confirm(
    ctx,
    input,
    'The next deployment begins, even if the command of this one should still be running.',
  )
  const confirmed = await ctx.callOperation('confirmDeploymentEnded', deploymentOf(input))
  ctx.print(confirmed, table([confirmed]))
}

export const reportBrokenRollout: Run = async (ctx, input) => {
  const failed = await ctx.callOperation('reportBrokenRollout', deploymentOf(input))
  ctx.print(failed, table([failed]))
}

const FOLLOW_MS = 1_000

export const readDeploymentOutput: Run = async (ctx, input) => {
  if (isSet(input, 'follow')) return followOutput(ctx, input)
  let text = ''
  for (let after = 0; ;) {
    const output = await ctx.callOperation('readDeploymentOutput', { ...deploymentOf(input), after })
    text += output.text
    if (output.ended || output.next <= after) {
      const { ended, dropped_bytes } = output
      ctx.print({ text, ended, dropped_bytes }, { text: sanitizeLines(text) })
      return sayDropped(ctx, dropped_bytes)
    }
    after = output.next
  }
}

/** As JSON, an object a line: what was written, and at last how it ended. */
async function followOutput(ctx: CommandContext, input: CommandInput): Promise<number> {
  refuseYaml(ctx)
  const line = (data: object, text: string): string =>
    ctx.settings.format === 'json' ? formatJson(data, 0) : text
  for (let after = 0; ;) {
    const output = await ctx.callOperation('readDeploymentOutput', { ...deploymentOf(input), after })
    const { text, ended, next, dropped_bytes } = output
    if (text !== '') ctx.environment.stdout.write(line({ text }, sanitizeLines(text)))
    if (ended) {
      sayDropped(ctx, dropped_bytes)
      const { state, code, exit_code } = await ctx.callOperation('showDeployment', deploymentOf(input))
      ctx.environment.stdout.write(line({ state, code, exit_code, dropped_bytes }, ''))
      ctx.info(code === null ? state : `${state}: ${code}`)
      return state === 'succeeded' ? 0 : FOUND_FAILED
    }
    if (next <= after) await sleep(FOLLOW_MS)
    after = next
  }
}

function sayDropped(ctx: CommandContext, bytes: number): void {
  if (bytes > 0) ctx.info(`${bytes} bytes in the middle were not kept.`)
}

const table = (deployments: readonly Deployment[]) =>
  tableOf(deployments, {
    DEPLOYMENT: 'id',
    REVISION: 'revision_id',
    STATE: ({ state, cancel_requested }) =>
      state === 'running' && cancel_requested ? 'running, to be cancelled' : state,
    CODE: 'code',
    EXIT: 'exit_code',
    RUNNER: 'runner',
    'REQUESTED BY': 'requested_by',
    REQUESTED: 'requested_at',
    ENDED: 'ended_at',
  })
