/** Every file that `npm run generate` writes without a database, and how; a test compares them with what is committed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { registryEntry } from '../../mcp/server-card.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { openapi } from '../../src/http/openapi.ts'
import { clientRequests } from './client-requests.ts'
import { errorsPage } from './errors-page.ts'
import { valuesSchemaFile } from './chart-schema.ts'
import { ownValuesTable, serviceValuesTable } from './chart-values-table.ts'
import { lintLayers } from './lint-layers.ts'
import { settingsTable } from './settings-table.ts'
import { betweenMarkers } from './table.ts'

export const ROOT = join(import.meta.dirname, '../..')

export type GeneratedFile = { path: string; text: () => string }

export const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/openapi.json', text: openapiFile },
  { path: 'server.json', text: registryFile },
  { path: '.oxlintrc.layers.json', text: lintLayers },
  { path: 'src/cli/requests.ts', text: clientRequests },
  {
    path: 'docs/operating.md',
    text: () => betweenMarkers(read('docs/operating.md'), 'settings', settingsTable()),
  },
  { path: 'chart/values.schema.json', text: valuesSchemaFile },
  {
    path: 'docs/self-hosting.md',
    text: () =>
      betweenMarkers(
        betweenMarkers(read('docs/self-hosting.md'), 'values', ownValuesTable()),
        'service-values',
        serviceValuesTable(),
      ),
  },
]

/** Served with the installation's own address; the committed one has that of a fresh start. */
function openapiFile(): string {
  const about = { version: version(), apiUrl: new URL('http://localhost:4000') }
  return `${JSON.stringify(openapi(OPERATIONS, about), null, 2)}\n`
}

function registryFile(): string {
  return `${JSON.stringify(registryEntry(version()), null, 2)}\n`
}

const version = (): string => (JSON.parse(read('package.json')) as { version: string }).version

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
