/** Every file that `npm run generate` writes without a database, and how; a test compares them with what is committed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientCalls, clientCommands } from './client-commands.ts'
import { clientRequests } from './client-requests.ts'
import { credentialsTable } from './credentials-table.ts'
import { errorsPage } from './errors-page.ts'
import { valuesSchemaFile } from './chart-schema.ts'
import { ownValuesTable, serviceValuesTable } from './chart-values-table.ts'
import { lintLayers } from './lint-layers.ts'
import { OPERATION_TABLES } from './operation-tables.ts'
import { operationsPage } from './operations-page.ts'
import { registryEntry } from './registry-entry.ts'
import { settingsTable } from './settings-table.ts'
import { betweenMarkers } from './table.ts'
import { benchmarksPage, proofsPage } from './results-pages.ts'

export const ROOT = join(import.meta.dirname, '../..')

export type GeneratedFile = { path: string; text: () => string }

export const GENERATED_FILES: readonly GeneratedFile[] = [
  ...OPERATION_TABLES,
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/operations.md', text: operationsPage },
  { path: 'docs/benchmarks.md', text: benchmarksPage },
  { path: 'docs/proofs.md', text: proofsPage },
  { path: 'server.json', text: registryFile },
  { path: '.oxlintrc.layers.json', text: lintLayers },
  { path: 'src/cli/requests.ts', text: clientRequests },
  { path: 'src/cli/operation-commands.ts', text: () => clientCommands() },
  { path: 'src/cli/operation-calls.ts', text: () => clientCalls() },
  {
    path: 'docs/operating.md',
    text: () =>
      betweenMarkers(
        betweenMarkers(read('docs/operating.md'), 'settings', settingsTable()),
        'credentials',
        credentialsTable(),
      ),
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

function registryFile(): string {
  return `${JSON.stringify(registryEntry(version()), null, 2)}\n`
}

const version = (): string => (JSON.parse(read('package.json')) as { version: string }).version

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
