/** `svc db …`: managed databases. */
import type * as z from 'zod'
import type { DataSource } from '../../contracts/data-sources.ts'
import { confirm, readInput, readSecret } from '../ask-person.ts'
import type { Call, Run } from '../command.ts'
import { argument, isSet, textOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import { usage } from '../usage.ts'
import type { World } from '../world.ts'

type Source = z.output<typeof DataSource>

export const listDatabases: Run = async (world, call) => {
  const search = textOption(call, 'search')
  const found = await readPages(world, call, 'data_sources', (page) =>
    world.ask('dataSources.list', { ...page, search }),
  )
  world.print(found, table(found.data_sources))
}

export const createDatabase: Run = async (world, call) => {
  const made = await world.ask('databases.create', { name: argument(call, 'name'), ...describing(call) })
  world.print(made, table([made]))
  world.say(`Connect to it: svc db connect ${argument(call, 'name')}`)
}

export const attachDatabase: Run = async (world, call) => {
  const url = await connectionString(world, call)
  const made = await world.ask('databases.attach', { name: argument(call, 'name'), url, ...describing(call) })
  world.print(made, table([made]))
}

export const connectDatabase: Run = async (world, call) => {
  const connection = await world.ask('databases.connection', { name: argument(call, 'name') })
  // What asks for less words and for JSON at once asks for JSON.
  if (isSet(call, 'quiet') && (world.settings.format ?? 'table') === 'table') {
    world.print(connection, { text: `${connection.url}\n` })
    return
  }
  const { name, host, port, database, user, password, url } = connection
  world.print(connection, { fields: { name, host, port, database, user, password, url } })
}

export const removeDatabase: Run = async (world, call) => {
  const name = argument(call, 'name')
  await confirm(world, call, `The database ${name} goes with everything in it; this cannot be undone.`, name)
  await world.ask('databases.remove', { name, confirm: name })
  world.say(`Removed ${name}`)
}

function describing(call: Call) {
  return { title: textOption(call, 'title'), description: textOption(call, 'description') }
}

async function connectionString(world: World, call: Call): Promise<string> {
  const given = textOption(call, 'url')
  if (given === '-') return readInput(world, '--url')
  if (given !== undefined) return given
  if (world.settings.interactive) return readSecret(world, 'Connection string (not shown): ')
  throw usage(
    'svc db attach needs --url',
    'Pipe it in, so that no list of processes shows it: --url - < file',
  )
}

const table = (sources: readonly Source[]) => ({
  columns: ['ID', 'NAME', 'KIND', 'READY', 'ON', 'EXPOSED', 'MIN ROLE', 'DESCRIPTION'],
  rows: sources.map((source) => [
    source.source_id,
    source.name,
    source.kind,
    yesOrNo(source.ready),
    yesOrNo(source.enabled),
    yesOrNo(source.exposed),
    source.minimum_role,
    source.description,
  ]),
})

const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no')
