/** Watches a load until it has ended, and says whether what it made can be asked. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandContext } from '../command-context.ts'
import { patiently, type Load } from './upload-file.ts'

const POLL_MS = 1_000

/** The load needs nobody: who stops watching can come back with the same command. */
export async function followLoad(
  ctx: CommandContext,
  started: Load,
  show: (load: Load) => void,
): Promise<Load> {
  let load = started
  while (load.state === 'running') {
    show(load)
    await sleep(POLL_MS)
    load = await patiently(ctx, () => ctx.callOperation('showLoad', { load_id: load.id }))
  }
  return load
}

/** On first: one that is off is exposed to nobody. */
export async function expose(ctx: CommandContext, source_id: string): Promise<void> {
  await ctx.callOperation('setDataSourceState', { source_id, enabled: true })
  await ctx.callOperation('setDataSourceExposure', { source_id, exposed: true })
  ctx.info(`${source_id} can be asked: svc datasource query ${source_id} "…"`)
}

/** A new source is off and hidden. The load has succeeded, whatever becomes of this question. */
export async function tellWhetherAskable(ctx: CommandContext, source_id: string): Promise<void> {
  const source = await ctx.callOperation('showDataSource', { source_id }).catch(() => undefined)
  if (!source || (source.enabled && source.exposed)) return
  ctx.info(
    source.enabled
      ? `${source_id} is not exposed yet, so nobody can ask it. An owner or admin can expose it: svc open datasources ${source_id}`
      : `${source_id} is off, so nobody can ask it. An owner or admin can turn it on and expose it: svc open datasources ${source_id}`,
  )
}
