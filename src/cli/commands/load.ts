/** `svc db load`, `svc db loads`: files that become tables. */
import { basename, resolve } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import {
  LOAD_EXTENSIONS,
  LOAD_TYPES,
  loadFormatOf,
  type LoadFormat,
  type LoadType,
} from '../../contracts/load-formats.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { findPlace, keepPlace } from '../load/file-places.ts'
import { expose, followLoad, tellWhetherAskable } from '../load/follow-load.ts'
import { showProgress } from '../load/show-progress.ts'
import { checkFile, digestOf, patiently, uploadFile, type Load } from '../load/upload-file.ts'
import { declared } from '../declared.ts'
import { formatJson } from '../format-output.ts'
import { argument, isSet, listOption, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { printAnswer, runOperation } from '../run-operation.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { usageError } from '../usage-error.ts'

export const loadFile: Run = async (ctx, input) => {
  const path = resolve(ctx.environment.cwd, argument(input, 'file'))
  formatOf(path)
  const plan = planOf(input)
  const name = argument(input, 'name')
  const isExposed = isSet(input, 'expose')
  await checkFile(path)
  if (isSet(input, 'preview')) return preview(ctx, name, path, plan)
  if (isExposed)
    await confirm(
      ctx,
      input,
      `This lets everybody who may ask data sources ask db_${name}, and their assistants.`,
    )
  await load(ctx, name, path, plan, isExposed)
}

type Plan = Omit<Input<'startLoad'>, 'load_id'>

async function load(
  ctx: CommandContext,
  name: string,
  path: string,
  plan: Plan,
  isExposed = false,
): Promise<void> {
  const progress = showProgress(ctx)
  try {
    const load = await upload(ctx, name, path, progress.show)
    if (load.state === 'uploading') tellColumns(ctx, await columnsOf(ctx, load, plan), plan)
    const started = await start(ctx, load.id, plan)
    const ended = await followLoad(ctx, started, progress.show)
    progress.end()
    if (ended.state === 'succeeded' && !ended.dry_run && !ended.append)
      await keepPlace(ctx, { database: name, table: ended.table! }, path)
    await printEnded(ctx, name, ended, isExposed)
  } finally {
    progress.end()
  }
}

async function upload(
  ctx: CommandContext,
  name: string,
  path: string,
  show: (load: Load) => void,
): Promise<Load> {
  const format = formatOf(path)
  const { bytes } = await checkFile(path)
  const file = { name, filename: basename(path).slice(0, 200), format, bytes, sha256: await digestOf(path) }
  // A wrong address or token shows at once; from here on a server may be replaced meanwhile.
  const load = await ctx.callOperation('createLoad', file)
  if (load.received > 0) ctx.info(`Continuing ${load.id}`)
  await uploadFile(ctx, load, path, show)
  if (load.state === 'uploading') await requireUnchanged(ctx, load, path, file.sha256)
  return load
}

type Preview = Output<'previewLoad'>

const columnsOf = (
  ctx: CommandContext,
  { id: load_id }: Load,
  { sheet, delimiter }: Plan,
): Promise<Preview> => patiently(ctx, () => ctx.callOperation('previewLoad', { load_id, sheet, delimiter }))

/** Before anything is loaded: what the values of each column are taken for, and what else could be chosen. */
function tellColumns(ctx: CommandContext, { columns, sheets, sheet }: Preview, plan: Plan): void {
  if (sheets.length > 1) ctx.info(`Sheet: ${sheet}. The file has: ${sheets.join(', ')}`)
  if (columns.length > 0) {
    const typed = columns.map((column) => `${column.header} (${typeOf(column, plan)})`)
    ctx.info(`Columns by their first rows: ${typed.join(', ')}`)
  }
  const open = columns.filter((column) => column.note !== null && plan.types?.[column.header] === undefined)
  for (const { header } of open) {
    ctx.info(`The values of ${header} can be meant in two ways. Say which: --type ${header}=…`)
  }
}

const typeOf = ({ name, header, type }: Preview['columns'][number], { types, id_column }: Plan): string =>
  types?.[header] ?? types?.[name] ?? (id_column === header || id_column === name ? 'id' : (type ?? 'list'))

/** What a load would make of the file; nothing of it stays. */
async function preview(ctx: CommandContext, name: string, path: string, plan: Plan): Promise<void> {
  const progress = showProgress(ctx)
  try {
    const load = await upload(ctx, name, path, progress.show)
    progress.end()
    if (load.state !== 'uploading') throw new ServiceError('CONFLICT', 'This file is being loaded already')
    const found = await columnsOf(ctx, load, plan)
    await ctx.callOperation('cancelLoad', { load_id: load.id })
    if (found.sheets.length > 1) ctx.info(`Sheet: ${found.sheet}. The file has: ${found.sheets.join(', ')}`)
    for (const problem of found.problems) ctx.info(problem)
    const lines = found.columns.map((column) =>
      [column.header, typeOf(column, plan), column.note ?? []].flat().map(sanitizeLine).join('\t'),
    )
    ctx.print(found, { text: lines.map((line) => `${line}\n`).join('') })
    ctx.info('Nothing was loaded. Another type: --type column=type')
  } finally {
    progress.end()
  }
}

/** A file that is refused leaves nothing behind, unless it runs already with other choices. */
async function start(ctx: CommandContext, load_id: string, plan: Plan): Promise<Load> {
  try {
    return await patiently(ctx, () => ctx.callOperation('startLoad', { load_id, ...plan }))
  } catch (error) {
    if (error instanceof ServiceError && ['INVALID_REQUEST', 'CONFLICT'].includes(error.code)) {
      const { state } = await ctx.callOperation('showLoad', { load_id })
      if (state === 'uploading') await ctx.callOperation('cancelLoad', { load_id })
    }
    throw error
  }
}

/** A file that somebody wrote to meanwhile arrived mixed of both. */
async function requireUnchanged(
  ctx: CommandContext,
  load: Load,
  path: string,
  sha256: string,
): Promise<void> {
  if ((await digestOf(path)) === sha256) return
  await patiently(ctx, () => ctx.callOperation('cancelLoad', { load_id: load.id }))
  throw usageError(`${path} was changed while it was uploaded`, 'Load it again when it is complete.')
}

function formatOf(path: string): LoadFormat {
  const format = loadFormatOf(path)
  if (format) return format
  throw usageError(
    'The file must be CSV, NDJSON, JSON, XLSX or Parquet',
    `Its name ends in ${LOAD_EXTENSIONS.join(', ')}.`,
  )
}

/** `--type price=number_comma` */
function typesOption(input: CommandInput): Record<string, LoadType> | undefined {
  const given = listOption(input, 'type').map((text) => {
    const at = text.lastIndexOf('=')
    const [column, type] = [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1).trim()]
    if (column === '' || !Object.hasOwn(LOAD_TYPES, type)) {
      throw usageError(
        `--type ${text} is no column and type`,
        `Types: ${Object.keys(LOAD_TYPES).join(', ')}.`,
      )
    }
    return [column, type as LoadType] as const
  })
  return given.length > 0 ? Object.fromEntries(given) : undefined
}

const DELIMITER_NAMES: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t' }

function planOf(input: CommandInput) {
  const delimiter = textOption(input, 'delimiter')
  return {
    table: textOption(input, 'table'),
    id_column: textOption(input, 'id'),
    title_column: textOption(input, 'title'),
    embed_columns: columnsOption(input, 'embed') ?? [],
    types: typesOption(input),
    sheet: textOption(input, 'sheet'),
    delimiter: delimiter === undefined ? undefined : (DELIMITER_NAMES[delimiter] ?? delimiter),
    filter_columns: columnsOption(input, 'filter'),
    model: textOption(input, 'model'),
    language: textOption(input, 'language'),
    append: isSet(input, 'append'),
    upsert: isSet(input, 'upsert'),
    replace: isSet(input, 'replace'),
    delete_missing: isSet(input, 'delete-missing'),
    dry_run: isSet(input, 'dry-run'),
    // What is exposed without it has nothing to be asked.
    save_configuration: isSet(input, 'save') || isSet(input, 'expose'),
  }
}

/** `--embed a --embed b`, or `--embed a,b`. */
function columnsOption(input: CommandInput, name: string): string[] | undefined {
  const columns = listOption(input, name).flatMap((text) => text.split(',').map((column) => column.trim()))
  const named = columns.filter((column) => column !== '')
  return named.length > 0 ? named : undefined
}

async function printEnded(ctx: CommandContext, name: string, load: Load, isExposed: boolean): Promise<void> {
  if (load.state === 'canceled') throw new ServiceError('CONFLICT', 'The load was canceled')
  if (load.state === 'failed') {
    const further = load.problem_count - load.problems.length
    throw new ServiceError(
      load.problem_count > 0 ? 'INVALID_REQUEST' : 'UNEXPECTED',
      load.failure ?? 'The load failed',
      {
        problems: [...load.problems, ...(further > 0 ? [`and ${further.toLocaleString('en')} more`] : [])],
      },
    )
  }
  if (load.dry_run) {
    ctx.print(load.changes, { text: `${changesOf(load)}\n` })
    return ctx.info('Nothing was changed.')
  }
  if (load.changes) ctx.info(changesOf(load))
  ctx.info(`Loaded ${load.rows.toLocaleString('en')} rows into table ${load.table} of ${name}`)
  if (load.long_rows) ctx.info(longRowsOf(load.long_rows))
  if (load.choices?.embed_columns.length === 0)
    ctx.info('No column was embedded: rows are found by words and filters only')
  if (load.failure !== null) ctx.info(load.failure)
  if (load.configuration_saved) {
    if (isExposed) await expose(ctx, `db_${name}`)
    printAnswer(ctx, declared('db loads'), load)
    return tellWhetherAskable(ctx, `db_${name}`)
  }
  ctx.print(load, { text: formatJson(load.configuration) })
  ctx.info(`To search it, save this configuration: PUT /api/wf/data-sources/db_${name}`)
}

const longRowsOf = (count: number): string =>
  `${count === 1 ? '1 row has' : `${count.toLocaleString('en')} rows have`} a text that is longer than the model reads, and was divided into passages`

const changesOf = ({ changes }: Load): string =>
  `${changes!.added.toLocaleString('en')} new, ${changes!.changed.toLocaleString('en')} changed, ${changes!.gone.toLocaleString('en')} gone`

/** As the last load of the table was started, from where this machine has read it. */
export const reload: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const last = await lastLoad(
    ctx,
    input,
    ({ choices, dry_run, append, undone }) => choices !== null && !dry_run && !(append && undone),
  )
  // Its file has only those rows: the table would lose all others.
  if (last.append) {
    throw new ServiceError('CONFLICT', `The last load has added rows to table ${last.table}`, {
      hint: `Load a file with all of its rows: svc db load ${name} <file> --replace, or --upsert`,
    })
  }
  const given = input.args['file']
  const file =
    given === undefined
      ? await findPlace(ctx, { database: name, table: last.table! })
      : resolve(ctx.environment.cwd, given)
  if (file === undefined) {
    throw usageError(
      `No file was loaded into table ${last.table} from this machine`,
      `Name it: svc db reload ${name} <file>`,
    )
  }
  const { id_column, title_column, filter_columns, sheet, delimiter, upsert, delete_missing, ...choices } =
    last.choices!
  await load(ctx, name, file, {
    ...choices,
    table: last.table!,
    id_column: id_column ?? undefined,
    title_column: title_column ?? undefined,
    filter_columns: filter_columns ?? undefined,
    sheet: sheet ?? undefined,
    delimiter: delimiter ?? undefined,
    upsert,
    delete_missing,
    replace: !upsert,
    dry_run: isSet(input, 'dry-run'),
    save_configuration: last.configuration_saved,
  })
}

export const undo: Run = async (ctx, input) => {
  const last = await lastLoad(ctx, input, ({ undo_until }) => undo_until !== null)
  const undone = !isSet(input, 'redo')
  const load = await ctx.callOperation('undoLoad', { load_id: last.id, undone })
  ctx.print(load, { text: '' })
  ctx.info(
    undone
      ? `Table ${load.table} is as it was before ${load.filename || load.id}. Until ${load.undo_until?.slice(0, 10)}: svc db undo --redo`
      : `Table ${load.table} is as ${load.filename || load.id} made it`,
  )
}

async function lastLoad(
  ctx: CommandContext,
  input: CommandInput,
  fits: (load: Load) => boolean,
): Promise<Load> {
  const name = argument(input, 'name')
  const table = textOption(input, 'table')
  const { loads: newest } = await ctx.callOperation('listLoads', { name, limit: 100 })
  const found = newest.find(
    (one) => one.state === 'succeeded' && (table === undefined || one.table === table) && fits(one),
  )
  if (!found)
    throw new ServiceError('NOT_FOUND', 'There is no such load', { hint: `List them: svc db loads ${name}` })
  return found
}

export const loads: Run = async (ctx, input) => {
  const load_id = textOption(input, 'cancel')
  if (load_id !== undefined) {
    await ctx.callOperation('cancelLoad', { load_id })
    ctx.info(`Canceled ${load_id}`)
  }
  await runOperation(declared('db loads'))(ctx, input)
}
