/**
 * `svc apps connect`: from a repository to an app that is deployed, logged and looked after. Every step finds what an earlier
 * call has done, so that it can be repeated.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import type { Output } from '../../contracts/operations.ts'
import type { AppScope } from '../../contracts/scopes.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { configPaths } from '../config-files.ts'
import { toServiceError } from '../format-error.ts'
import { argument, isSet, textOption } from '../options.ts'
import { replaceFile } from '../private-files.ts'
import { promptLine } from '../prompt.ts'
import { runnerLines, type Place } from '../source/runner-lines.ts'
import { pushFiles } from '../source/push.ts'
import { readPushedRevision, savePushedRevision } from '../source/pushed-revision.ts'
import { readSourceFolder } from '../source/read-folder.ts'
import { usageError } from '../usage-error.ts'

export const connectApp: Run = async (ctx, input) => {
  const folder = resolve(ctx.environment.cwd)
  const alias = argument(input, 'app') || aliasOf(folder)
  const found = await findApp(ctx, alias)
  const isNew = found === undefined
  // Before anything is made: a folder that cannot be pushed is no app, and a file of somebody else stays as it is.
  const files = readSourceFolder(folder)
  const { apiUrl } = await ctx.resolveContext()
  const fileOf = (appId: string) => tokenFile(ctx, input, { alias, appId, apiUrl })
  readTokens(fileOf(found ?? ''), { folder, appId: found })
  const appId =
    found ??
    (await ctx.callOperation('createApp', { alias, name: textOption(input, 'name') ?? basename(folder) })).id
  const base = await readPushedRevision(ctx, folder, alias)
  const pushed = await pushFiles(ctx, { alias, base, replace: false }, files, () => {})
  await savePushedRevision(ctx, folder, alias, pushed.id)
  ctx.info(`${isNew ? 'Created' : 'Found'} the app ${alias}; pushed ${files.length} files as ${pushed.id}`)
  const tokens = await makeTokens(ctx, { alias, appId, apiUrl, folder, file: fileOf(appId) })
  const place = { alias, file: tokens.file, command: textOption(input, 'exec') ?? './deploy.sh' }
  // A command may have several lines.
  const lines = tokens.isWhole ? runnerLines(place satisfies Place).flatMap((text) => text.split('\n')) : []
  for (const line of lines) ctx.info(line)
  const maintenance = await offerMaintenance(ctx, input, alias)
  const seen = await look(ctx, alias)
  const answer = {
    app: alias,
    created: isNew,
    revision_id: pushed.id,
    tokens: tokens.isWhole ? tokens.file : null,
    maintenance,
    ...seen,
  }
  ctx.print(answer, {
    fields: {
      app: alias,
      revision: pushed.id,
      tokens: tokens.isWhole ? tokens.file : 'none: this login may not make any',
      maintenance: maintenance ? 'on' : 'off',
      'log lines today': seen.log_lines,
      'last deployment': seen.last_deployment ?? 'none yet',
    },
  })
  for (const line of todo(alias, { ...seen, maintenance })) ctx.info(line)
}

/** What the name of the folder allows. */
function aliasOf(folder: string): string {
  const alias = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
  if (alias !== '') return alias
  throw usageError('The name of this folder makes no alias', 'Name the app: svc apps connect <app>')
}

/** Its id; undefined: there is none. */
async function findApp(ctx: CommandContext, alias: string): Promise<string | undefined> {
  try {
    return (await ctx.callOperation('showApp', { alias })).id
  } catch (error) {
    if (toServiceError(error).code !== 'NOT_FOUND') throw error
    return undefined
  }
}

type Connected = { readonly alias: string; readonly appId: string; readonly apiUrl: URL }

/** Named by the app's id, which no app of another organization has: aliases are the same in many. */
const tokenFile = (ctx: CommandContext, input: CommandInput, { alias, appId, apiUrl }: Connected): string => {
  const given = textOption(input, 'file')
  const server = apiUrl.host.replaceAll(/[^\w.-]/g, '_')
  return given === undefined
    ? join(configPaths(ctx.environment).folder, 'apps', `${server}-${alias}-${appId}.env`)
    : resolve(ctx.environment.cwd, given)
}

const TOKENS = { SVC_REPORTING_TOKEN: 'apps:report', SVC_RUNNER_TOKEN: 'apps:run' } as const satisfies Record<
  string,
  AppScope
>

/** Both in a file that only its owner reads, each written as soon as it is there: its value is not shown again. */
async function makeTokens(
  ctx: CommandContext,
  { alias, appId, apiUrl, folder, file }: Connected & { readonly folder: string; readonly file: string },
): Promise<{ readonly file: string; readonly isWhole: boolean }> {
  const own = [
    ['SVC_API_URL', apiUrl.origin],
    ['SVC_APP_ID', appId],
  ] as const
  const known = new Map([...own, ...readTokens(file, { folder, appId })])
  const save = async () => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await replaceFile(file, [...known].map(([name, value]) => `${name}=${value}\n`).join(''), async () => {})
    await chmod(file, 0o600)
  }
  for (const [name, scope] of Object.entries(TOKENS)) {
    if (known.has(name)) continue
    // A file that cannot be written is found before there is a token for it.
    await save()
    try {
      const kind = scope === 'apps:run' ? 'runner' : 'reporting'
      known.set(name, (await ctx.callOperation('createAppToken', { alias, scope, name: kind })).token)
    } catch (error) {
      if (toServiceError(error).code !== 'FORBIDDEN') throw error
      ctx.info(`This login may not make tokens. Make both on the page of the app: /console/apps/${alias}`)
      return { file, isWhole: false }
    }
    await save()
  }
  return { file, isWhole: true }
}

/** What is in the file already: only what an earlier call for the same app wrote there. */
function readTokens(
  file: string,
  { folder, appId }: { readonly folder: string; readonly appId: string | undefined },
): ReadonlyMap<string, string> {
  if (`${realPath(file)}${sep}`.startsWith(`${realPath(folder)}${sep}`)) {
    throw usageError(
      `The tokens would be in the folder that is pushed: ${file}`,
      'Name a file outside of it with --file',
    )
  }
  const lines = readLines(file)
  const known = new Map(
    lines.flatMap((line) => {
      const [, name, value] = OWN_LINE.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )
  if (known.size < lines.length) {
    throw usageError(`${file} has lines that are not of svc`, 'Name another file with --file')
  }
  if (lines.length > 0 && (appId === undefined || known.get('SVC_APP_ID') !== appId)) {
    throw usageError(`${file} has tokens of another app`, 'Name another file with --file')
  }
  return known
}

const OWN_LINE = new RegExp(`^(SVC_API_URL|SVC_APP_ID|${Object.keys(TOKENS).join('|')})=(\\S+)$`)

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return []
    throw error
  }
}

/** Where it is or would be, whatever links lead there. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT' || dirname(path) === path) throw error
    return join(realPath(dirname(path)), basename(path))
  }
}

/** Whether it is on in the end. */
async function offerMaintenance(ctx: CommandContext, input: CommandInput, alias: string): Promise<boolean> {
  const current = await readMaintenance(ctx, alias)
  if (current === undefined) {
    ctx.info(
      'The maintenance agent is off for the organization. Turn it on: svc apps maintenance settings --enable --model rules',
    )
    return false
  }
  if (current.settings.enabled) return true
  const isWanted = isSet(input, 'maintenance') || (await asksFor(ctx))
  if (!isWanted) return false
  try {
    const { settings } = await ctx.callOperation('updateAppMaintenance', { alias, enabled: true })
    return settings.enabled
  } catch (error) {
    if (toServiceError(error).code !== 'FORBIDDEN') throw error
    ctx.info('Only owners and admins turn the maintenance agent on.')
    return false
  }
}

async function asksFor(ctx: CommandContext): Promise<boolean> {
  if (!ctx.settings.interactive) return false
  ctx.info('The maintenance agent reads logs and source every night, and spends tokens of the allowance.')
  return /^y(es)?$/i.test(await promptLine(ctx, 'Turn it on for this app? [y/N] '))
}

/** Undefined: it is off for the organization. */
async function readMaintenance(
  ctx: CommandContext,
  alias: string,
): Promise<Output<'showAppMaintenance'> | undefined> {
  try {
    return await ctx.callOperation('showAppMaintenance', { alias })
  } catch (error) {
    if (toServiceError(error).code !== 'MAINTENANCE_AGENT_NOT_FOUND') throw error
    return undefined
  }
}

/** What has arrived by now. */
async function look(ctx: CommandContext, alias: string) {
  const { buckets } = await ctx.callOperation('summarizeLogs', { alias })
  const { deployments } = await ctx.callOperation('listDeployments', { alias, limit: 1 })
  const lines = buckets.flatMap(({ counts }) => Object.values(counts)).reduce((sum, n) => sum + n, 0)
  return { log_lines: lines, last_deployment: deployments[0]?.state ?? null }
}

const todo = (
  alias: string,
  seen: { log_lines: number; last_deployment: string | null; maintenance: boolean },
): string[] => [
  ...(seen.last_deployment === null
    ? [`Nothing was deployed yet: start the runner, then svc apps push ${alias} --deploy`]
    : []),
  ...(seen.log_lines === 0
    ? ['No log line has come yet: start the program with the line above, then run this again.']
    : []),
  ...(seen.maintenance ? [] : [`The maintenance agent is off: svc apps maintenance enable ${alias}`]),
]
