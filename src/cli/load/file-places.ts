/**
 * Where this machine has read the file of a table. The server does not know it: what another member has stored there would
 * otherwise name the file of this machine that a reload uploads.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandContext } from '../command-context.ts'
import { configPaths } from '../config-files.ts'
import { replaceFile, withLock } from '../private-files.ts'

/** A path, by server, organization, database and table. */
type Places = Record<string, string>
type Table = { readonly database: string; readonly table: string }

const FORMAT = 1

export async function findPlace(ctx: CommandContext, table: Table): Promise<string | undefined> {
  const [places, key] = [readPlaces(fileOf(ctx)), await keyOf(ctx, table)]
  return Object.hasOwn(places, key) ? places[key] : undefined
}

/** The table is loaded: a folder that cannot be written to only means that a reload has to name the file. */
export async function keepPlace(ctx: CommandContext, table: Table, path: string): Promise<void> {
  const file = fileOf(ctx)
  try {
    const key = await keyOf(ctx, table)
    if (readPlaces(file)[key] === path) return
    await withLock(configPaths(ctx.environment).folder, async (assertLocked) => {
      const files = { ...readPlaces(file), [key]: path }
      await replaceFile(file, `${JSON.stringify({ version: FORMAT, files }, null, 2)}\n`, assertLocked)
    })
  } catch {
    ctx.info('Where the file is could not be saved: name it when you reload the table')
  }
}

const fileOf = ({ environment }: CommandContext): string =>
  join(configPaths(environment).folder, 'loads.json')

/** Names of databases are those of an organization. */
async function keyOf(ctx: CommandContext, { database, table }: Table): Promise<string> {
  const { apiUrl } = await ctx.resolveContext()
  const { organization } = await ctx.callOperation('whoAmI', {})
  return [apiUrl.origin, organization?.id, database, table].join(' ')
}

/** What is missing, damaged or of another version is as good as empty. */
function readPlaces(file: string): Places {
  try {
    const { version, files } = JSON.parse(readFileSync(file, 'utf8')) as { version?: number; files?: Places }
    const known = version === FORMAT ? Object.entries(files ?? {}) : []
    return Object.fromEntries(known.filter(([, path]) => typeof path === 'string'))
  } catch {
    return {}
  }
}
