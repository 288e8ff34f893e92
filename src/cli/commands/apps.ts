/** `svc apps …`. */
import type { Output } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, isSet, textOption } from '../options.ts'
import { readPages } from '../read-pages.ts'

type App = Output<'createApp'>

export const listApps: Run = async (ctx, input) => {
  const filters = { search: textOption(input, 'search'), mine: isSet(input, 'mine') ? 'true' : undefined }
  const found = await readPages(ctx, input, 'listApps', 'apps', filters)
  ctx.print(found, table(found.apps))
}

export const createApp: Run = async (ctx, input) => {
  const alias = argument(input, 'alias')
  const created = await ctx.callOperation('createApp', { alias, name: textOption(input, 'name') ?? alias })
  ctx.print(created, table([created]))
}

const table = (apps: readonly App[]) =>
  tableOf(apps, { APP: 'alias', NAME: 'name', 'YOUR ROLE': 'my_role', 'OPEN TICKETS': 'open_tickets' })
