/** `svc db …`: managed databases. */
import type * as z from 'zod'
import type { DataSource, DataSourceWithHealth } from '../../contracts/data-sources.ts'
import type { CommandInput, Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, isSet, textOption } from '../options.ts'
import { confirm, secretOption } from '../prompt.ts'
import { readPages } from '../read-pages.ts'

type Source = z.output<typeof DataSource>
type Health = z.output<typeof DataSourceWithHealth>['health']

export const listDatabases: Run = async (ctx, input) => {
  const search = textOption(input, 'search')
  const found = await readPages(ctx, input, 'listDataSources', 'data_sources', { search })
  ctx.print(found, tableOf(found.data_sources, { ...COLUMNS, HEALTH: ({ health }) => healthWord(health) }))
}

export const showDatabase: Run = async (ctx, input) => {
  const source = await ctx.callOperation('showDataSource', { source_id: `db_${argument(input, 'name')}` })
  const { source_id, name, description, kind, ready, enabled, exposed, minimum_role, health } = source
  ctx.print(source, {
    fields: {
      id: source_id,
      name,
      description,
      kind,
      ready,
      enabled,
      exposed,
      'minimum role': minimum_role,
      health: healthWord(health),
      checked: health.checked_at,
      'last error': health.last_error && `${health.last_error.at} ${health.last_error.cause}`,
    },
  })
  if ((ctx.settings.format ?? 'table') !== 'table') return
  for (const { text } of health.problems) ctx.info(text)
}

function healthWord({ checked_at, problems }: Health): string {
  if (problems.length > 0) return problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return checked_at === null ? 'not checked' : 'ok'
}

export const createDatabase: Run = async (ctx, input) => {
  const created = await ctx.callOperation('createDatabase', {
    name: argument(input, 'name'),
    ...titleAndDescription(input),
  })
  ctx.print(created, table([created]))
  ctx.info(`Connect with: svc db psql ${argument(input, 'name')}`)
}

export const attachDatabase: Run = async (ctx, input) => {
  const url = await secretOption(ctx, input, 'url', 'Connection string')
  const created = await ctx.callOperation('attachDatabase', {
    name: argument(input, 'name'),
    url,
    ...titleAndDescription(input),
  })
  ctx.print(created, table([created]))
}

export const connectDatabase: Run = async (ctx, input) => {
  const connection = await ctx.callOperation('showConnectionString', { name: argument(input, 'name') })
  // With both -q and --json, JSON wins.
  if (isSet(input, 'quiet') && (ctx.settings.format ?? 'table') === 'table') {
    ctx.print(connection, { text: `${connection.url}\n` })
    return
  }
  const { name, host, port, database, user, password, url } = connection
  ctx.print(connection, { fields: { name, host, port, database, user, password, url } })
}

export const removeDatabase: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  await confirm(
    ctx,
    input,
    `This deletes database ${name} and all its data (an attached database is only detached).`,
    name,
  )
  await ctx.callOperation('removeDatabase', { name, confirm: name })
  ctx.info(`Removed ${name}`)
}

function titleAndDescription(input: CommandInput) {
  return { title: textOption(input, 'title'), description: textOption(input, 'description') }
}

const COLUMNS = {
  ID: 'source_id',
  NAME: 'name',
  KIND: 'kind',
  READY: 'ready',
  ENABLED: 'enabled',
  EXPOSED: 'exposed',
  'MIN ROLE': 'minimum_role',
  DESCRIPTION: 'description',
} as const

const table = (sources: readonly Source[]) => tableOf(sources, COLUMNS)
