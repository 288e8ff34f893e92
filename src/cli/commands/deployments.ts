/** `svc apps deployments output`: what a deploy command wrote, to its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { FOUND_FAILED } from '../exit-codes.ts'
import { refuseYaml } from '../follow-format.ts'
import { formatJson } from '../format-output.ts'
import { argument, isSet } from '../options.ts'
import { sanitizeLines } from '../terminal-text.ts'

const deploymentOf = (input: CommandInput) => ({
  alias: argument(input, 'app'),
  deployment_id: argument(input, 'deployment_id'),
})

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
