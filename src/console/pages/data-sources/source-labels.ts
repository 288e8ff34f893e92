/** Labels and paths of data sources, and the command that configures one. */
import type * as z from 'zod'
import {
  showDataSource,
  type DataSourceWithHealth,
  type SearchConfiguration,
  type SourceKind,
} from '../../../contracts/data-sources.ts'
import type { Role } from '../../../contracts/roles.ts'
import { badge, ROLE_LABELS } from '../../components.ts'
import { routeInput } from '../../act.ts'
import type { PageContext } from '../../context.ts'

export type Source = z.output<typeof DataSourceWithHealth>
export const SOURCES_PATH = '/console/data-sources'

export const pathOf = (id: string): string => `${SOURCES_PATH}/${encodeURIComponent(id)}`

/** The id in the address. */
export const sourceIdFrom = (c: PageContext): string => routeInput(c, showDataSource).source_id

/** The name of the database behind `db_<name>`. */
export const databaseOf = ({ source_id }: Pick<Source, 'source_id'>): string => source_id.slice('db_'.length)

export const KIND_LABELS: Record<SourceKind, { label: string; about: string }> = {
  embedded: { label: 'Embedded', about: 'stored in the data folder of this installation' },
  postgres: { label: 'Postgres', about: 'a dedicated database on the managed server' },
  attached: { label: 'Attached Postgres', about: 'an external server; this installation only reads it' },
}

export const roleAndAbove = (role: Role): string => {
  const plural = `${ROLE_LABELS[role].label.toLowerCase()}s`
  return role === 'owner' ? plural : `${plural} and above`
}

export function stateBadge({ ready, enabled, exposed, minimum_role }: Source) {
  if (!ready) return badge('Creating', 'wait')
  if (!enabled) return badge('Off', 'off')
  return exposed ? badge(`Exposed to ${roleAndAbove(minimum_role)}`, 'on') : badge('On, not exposed', 'wait')
}

export const configurationOf = ({
  connection_config,
  filter_schema,
  access_column,
}: Source): SearchConfiguration | null =>
  connection_config && { connection_config, filter_schema, ...(access_column !== null && { access_column }) }

/** Shown as an example where nothing is saved yet. */
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

/** A quoted here-document: whatever the names of columns contain, the shell interprets none of it. */
export const configureCommand = (c: PageContext, id: string, document: SearchConfiguration): string =>
  [
    `curl -X PUT ${apiAddress(c, `/api/wf/data-sources/${id}`)} \\`,
    '  -H "Authorization: Bearer $SVC_TOKEN" \\',
    '  -H "Content-Type: application/json" \\',
    "  --data-binary @- <<'JSON'",
    JSON.stringify(document, null, 2),
    'JSON',
  ].join('\n')

function apiAddress(c: PageContext, path: string): string {
  const { apiUrl, appUrl } = c.var.deps
  return new URL(path, apiUrl ?? appUrl).href
}
