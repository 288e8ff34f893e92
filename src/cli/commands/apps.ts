/** `svc apps …`: the apps of the organization. */
import type { Run } from '../command.ts'
import { argument, isSet, textOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import type { Operations } from '../requests.ts'
import type * as z from 'zod'

type App = z.output<Operations['apps.create']['output']>

export const listApps: Run = async (world, call) => {
  const filters = { search: textOption(call, 'search'), mine: isSet(call, 'mine') ? 'true' : undefined }
  const found = await readPages(world, call, 'apps', (page) =>
    world.ask('apps.list', { ...filters, ...page }),
  )
  world.print(found, table(found.apps))
}

export const createApp: Run = async (world, call) => {
  const alias = argument(call, 'alias')
  const made = await world.ask('apps.create', { alias, name: textOption(call, 'name') ?? alias })
  world.print(made, table([made]))
}

const table = (apps: readonly App[]) => ({
  columns: ['APP', 'NAME', 'YOU ARE', 'OPEN TICKETS'],
  rows: apps.map((app) => [app.alias, app.name, app.my_part, app.open_tickets]),
})
