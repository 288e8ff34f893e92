/** `svc apps push`, `svc apps pull`, `svc apps diff`: the source of an app. */
import { resolve } from 'node:path'
import { byteSize } from '../../contracts/byte-size.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { tableView } from '../cells.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { shownDiff } from '../diff-text.ts'
import { declared } from '../declared.ts'
import { argument, isSet, textOption } from '../options.ts'
import { printAnswer } from '../run-operation.ts'
import { readRevisionArchive } from '../runner/unpack-revision.ts'
import { mergeTrees, writeChanges } from '../source/merge-trees.ts'
import { pushFiles } from '../source/push.ts'
import { readPushedRevision, savePushedRevision } from '../source/pushed-revision.ts'
import { readSourceFolder } from '../source/read-folder.ts'
import { usageError } from '../usage-error.ts'

/** Its table has what all of them have. */
const REVISIONS = declared('apps revisions')

export const pushFolder: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const folder = resolve(ctx.environment.cwd, argument(input, 'folder') || '.')
  const files = readSourceFolder(folder)
  const base = await readPushedRevision(ctx, folder, alias)
  const pushing = { alias, base, replace: isSet(input, 'replace') }
  const pushed = await pushFiles(ctx, pushing, files, progressOn(ctx))
  await savePushedRevision(ctx, folder, alias, pushed.id)
  ctx.info(
    pushed.sent_files === 0
      ? `Nothing to send: the server has all ${files.length} files`
      : `Sent ${pushed.sent_files} of ${files.length} files (${byteSize(pushed.sent_bytes)})`,
  )
  if (!pushed.created) ctx.info(`This tree was pushed before, as ${pushed.id}`)
  for (const id of pushed.undoes) ctx.info(`Undoes the approved proposal ${id}; its finding is open again`)
  if (!isSet(input, 'deploy')) return printAnswer(ctx, REVISIONS, pushed)
  const deployment = await ctx.callOperation('createDeployment', { alias, revision_id: pushed.id })
  const columns = { ...REVISIONS.call.table, DEPLOYMENT: 'deployment.id' }
  ctx.print({ ...pushed, deployment }, tableView([{ ...pushed, deployment }], columns))
  ctx.info(`Follow it with: svc apps deployments output ${alias} ${deployment.id} --follow`)
}

export const pullHead: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const folder = resolve(ctx.environment.cwd, argument(input, 'folder') || '.')
  const files = readSourceFolder(folder)
  const base = textOption(input, 'base') ?? (await readPushedRevision(ctx, folder, alias))
  if (base === undefined) {
    throw usageError(
      `Nothing says which revision of ${alias} this folder was made from`,
      `Name it with --base, from: svc apps revisions ${alias}`,
    )
  }
  const head = await findHead(ctx, alias)
  const read = async (revision_id: string) =>
    readRevisionArchive((await ctx.callOperation('downloadRevision', { alias, revision_id })).body)
  const changes = base === head ? [] : mergeTrees(await read(base), await read(head), files)
  writeChanges(folder, changes)
  await savePushedRevision(ctx, folder, alias, head)
  const pulled = changes.map(({ path, change }) => ({ path, change }))
  ctx.print({ app: alias, base, head, files: pulled }, tableView(pulled, { FILE: 'path', CHANGE: 'change' }))
  ctx.info(
    changes.length === 0
      ? `Nothing to bring in: this folder has all of ${head}`
      : `Brought in ${head}. Look at the changes, then push: svc apps push ${alias}`,
  )
}

export const diffRevisions: Run = async (ctx, input) => {
  const alias = argument(input, 'app')
  const revision_id = argument(input, 'revision_id') || (await findHead(ctx, alias))
  const compared = await ctx.callOperation('diffRevisions', {
    alias,
    revision_id,
    base: textOption(input, 'base'),
  })
  const isPatch = isSet(input, 'patch')
  // Half a patch is a tree that nobody wrote.
  if (isPatch && compared.truncated !== undefined) {
    throw new ServiceError('CONFLICT', `The patch would not be whole. ${compared.truncated}`, {
      hint: 'Without --patch you see the rest of it. The archives of both revisions have everything.',
    })
  }
  // At a terminal the exact text could do what it likes there.
  const isExact = isPatch && !ctx.environment.stdout.isTTY
  const text = isExact ? compared.diff : shownDiff(compared.diff, ctx.settings.color)
  ctx.print(compared, { text })
  if (compared.truncated !== undefined) ctx.info(compared.truncated)
}

async function findHead(ctx: CommandContext, alias: string): Promise<string> {
  const { head_id } = await ctx.callOperation('listRevisions', { alias, limit: 1 })
  if (head_id !== null) return head_id
  throw new ServiceError('NOT_FOUND', `There is no revision of ${alias} yet`, {
    hint: `Push one: svc apps push ${alias}`,
  })
}

/** One line that is written over and over; at a terminal only. */
function progressOn({ settings, environment }: CommandContext) {
  if (!settings.interactive || !settings.color) return () => {}
  return (sent: number, all: number) =>
    void environment.stderr.write(
      sent === all ? '\r\u001b[K' : `\r\u001b[KSending ${byteSize(sent)} of ${byteSize(all)}`,
    )
}
