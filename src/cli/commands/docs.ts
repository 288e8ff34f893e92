/** `svc docs sync`: a folder of files becomes a documents source. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import type { Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { readDocuments, type LeftOut } from '../documents/read-folder.ts'
import { sendFiles } from '../documents/send-files.ts'
import { followLoad, tellWhetherAskable } from '../load/follow-load.ts'
import { showProgress } from '../load/show-progress.ts'
import { patiently, type Load } from '../load/upload-file.ts'
import { argument, isSet } from '../options.ts'
import { printAnswer } from '../run-operation.ts'
import { usageError } from '../usage-error.ts'

/** Of those that are left out; the rest is counted. */
const LEFT_OUT_SHOWN = 20

export const syncDocuments: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const root = resolve(ctx.environment.cwd, argument(input, 'folder'))
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw usageError(`There is no folder ${root}`, 'Name the folder that has the documents.')
  }
  const { files, leftOut } = await readDocuments(root, { git: isSet(input, 'git') })
  const keep = isSet(input, 'keep')
  if (files.length === 0 && !keep) {
    // More likely a wrong folder than the wish to delete everything.
    throw usageError(`There are no documents in ${root}`, 'To delete a source: svc db remove')
  }
  const progress = showProgress(ctx)
  try {
    // A wrong address or token shows at once; another sync of the same source is waited for.
    const begun = await patiently(
      ctx,
      () => ctx.callOperation('syncDocuments', { name, files: [...files], keep }),
      { isFirst: true },
    )
    if (begun.sync) await finishSync(ctx, { root, files, begun, sync: begun.sync, progress })
    progress.end()
    ctx.info(summaryOf(begun))
  } finally {
    progress.end()
  }
  tellLeftOut(ctx, leftOut)
  const held = await patiently(ctx, () => ctx.callOperation('showDocuments', { name }))
  printAnswer(ctx, declared('docs status'), held, { name })
  await tellWhetherAskable(ctx, `db_${name}`)
}

export const undoDocuments: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const { version } = await ctx.callOperation('showDocuments', { name })
  if (version === 0) throw new ServiceError('CONFLICT', 'Nothing was published yet')
  const held = await ctx.callOperation('undoDocuments', { name, version })
  ctx.info(`Version ${version} was undone. The same command brings it back.`)
  printAnswer(ctx, declared('docs status'), held, { name })
}

type Begun = Output<'syncDocuments'>
type Under = {
  readonly root: string
  readonly files: Awaited<ReturnType<typeof readDocuments>>['files']
  readonly begun: Begun
  readonly sync: Load
  readonly progress: ReturnType<typeof showProgress>
}

async function finishSync(ctx: CommandContext, { root, files, begun, sync, progress }: Under): Promise<void> {
  if (sync.received > 0) ctx.info(`Continuing ${sync.id}`)
  const byPath = new Map(files.map((file) => [file.path, file]))
  const missing = begun.missing.flatMap((path) => byPath.get(path) ?? [])
  const sent = await sendFiles(ctx, sync, root, missing, progress.show)
  const ended = await followLoad(ctx, sent, progress.show)
  if (ended.state === 'canceled') throw new ServiceError('CONFLICT', 'The sync was canceled')
  if (ended.state === 'failed') throw new ServiceError('UNEXPECTED', ended.failure ?? 'The sync failed')
}

function summaryOf({ sync, added, changed, removed, unchanged }: Begun): string {
  if (!sync) return `Nothing has changed: ${unchanged.toLocaleString('en')} documents`
  const counted = { added, changed, removed, unchanged }
  return Object.entries(counted)
    .flatMap(([what, count]) => (count > 0 ? [`${count.toLocaleString('en')} ${what}`] : []))
    .join(', ')
}

function tellLeftOut(ctx: CommandContext, leftOut: readonly LeftOut[]): void {
  if (leftOut.length === 0) return
  ctx.info(`Left out ${leftOut.length.toLocaleString('en')} ${leftOut.length === 1 ? 'file' : 'files'}:`)
  for (const { path, reason } of leftOut.slice(0, LEFT_OUT_SHOWN)) ctx.info(`  ${path}: ${reason}`)
  if (leftOut.length > LEFT_OUT_SHOWN) ctx.info(`  and ${leftOut.length - LEFT_OUT_SHOWN} more`)
}
