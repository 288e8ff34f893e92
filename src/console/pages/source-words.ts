/** How the console speaks of data sources: their kinds and states, their addresses, the lines people copy. */
import type { Context } from 'hono'
import type * as z from 'zod'
import {
  showDataSource,
  type DataSource,
  type SearchConfiguration,
  type SourceKind,
} from '../../contracts/data-sources.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Role } from '../../contracts/roles.ts'
import { badge, ROLE_WORDS } from '../parts.ts'
import type { ConsoleEnv } from '../visit.ts'

export type Source = z.output<typeof DataSource>
export const SOURCES_PATH = '/console/data-sources'

export const pathOf = (id: string): string => `${SOURCES_PATH}/${encodeURIComponent(id)}`

/** The id in the address. One that cannot be an id names nothing, and says no more than that. */
export function sourceIdFrom(c: Context<ConsoleEnv>): string {
  const read = showDataSource.input.safeParse({ source_id: c.req.param('id') })
  if (!read.success) throw notFound()
  return read.data.source_id
}

/** The name of the database behind `db_<name>`. */
export const databaseOf = ({ source_id }: Pick<Source, 'source_id'>): string => source_id.slice('db_'.length)

export const KIND_WORDS: Record<SourceKind, { label: string; about: string }> = {
  embedded: { label: 'Embedded', about: 'kept in the data folder of this installation' },
  postgres: { label: 'Postgres', about: 'a database of its own on the managed server' },
  attached: { label: 'Attached Postgres', about: 'somebody’s own server; this installation only reads it' },
}

export const roleAndAbove = (role: Role): string => {
  const plural = `${ROLE_WORDS[role].label.toLowerCase()}s`
  return role === 'owner' ? plural : `${plural} and above`
}

export function stateBadge({ ready, enabled, exposed, minimum_role }: Source) {
  if (!ready) return badge('Being made', 'wait')
  if (!enabled) return badge('Off', 'off')
  return exposed ? badge(`Exposed to ${roleAndAbove(minimum_role)}`, 'on') : badge('On, not exposed', 'wait')
}

export const configurationOf = ({ connection_config, filter_schema }: Source): SearchConfiguration | null =>
  connection_config && { connection_config, filter_schema }

/** Where nothing is saved yet: a document to change, in the shape that is wanted. */
export const SAMPLE_CONFIGURATION: SearchConfiguration = {
  connection_config: {
    embedding_configs: [
      {
        label: 'articles',
        table: 'articles',
        columns: ['embedding'],
        model: 'minilm-l6-v2',
        dimensions: 384,
        content_columns: 'id, title, body',
        distance_metric: 'cosine',
      },
    ],
  },
  filter_schema: { team: 'string', year: 'number' },
}

/** A quoted here-document: whatever stands in the names of columns, the shell reads none of it. */
export const configureLine = (c: Context<ConsoleEnv>, id: string, document: SearchConfiguration): string =>
  [
    `curl -X PUT ${apiAddress(c, `/api/wf/data-sources/${id}`)} \\`,
    '  -H "Authorization: Bearer $SVC_TOKEN" \\',
    '  -H "Content-Type: application/json" \\',
    "  --data-binary @- <<'JSON'",
    JSON.stringify(document, null, 2),
    'JSON',
  ].join('\n')

function apiAddress(c: Context<ConsoleEnv>, path: string): string {
  const { apiUrl, appUrl } = c.var.needs
  return new URL(path, apiUrl ?? appUrl).href
}
