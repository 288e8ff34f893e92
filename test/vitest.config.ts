/** What `npm test` runs. Nearly all walks run on a real Postgres server, some of them on the embedded database too. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { findChromium } from './find-chromium.ts'
import { matching } from './matching.ts'

declare module 'vitest' {
  interface ProvidedContext {
    engine: 'pglite' | 'postgres'
    /** `hosted`: walks run with the auth service at a vendor's. Left out: our own. */
    auth: 'self' | 'hosted'
    /** Walks reach Postgres through a PgBouncer in transaction mode. Left out: directly. */
    isPooled: boolean
    chromium: string
    /** Every look and every path through the pages; without it the two that show most. */
    everyLook: boolean
  }
}

type Project = NonNullable<TestProjectInlineConfiguration['test']>
const project = (name: string, test: Project): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
})

/** They start, stop and kill databases and models for a minute and a half: `npm run test:long` runs them. */
export const ENGINES = matching(
  'db/backup.test.ts',
  'db/embedded.test.ts',
  'db/managed/attached-thread.test.ts',
  'db/managed/embedded-databases.test.ts',
  'db/migrate.test.ts',
  'db/safe-transactions.test.ts',
  'db/template.test.ts',
  'src/adapters/embeddings/built-in.test.ts',
  'src/cores/databases/write-to-database.test.ts',
)

const UNITS = matching(
  ...['src', 'mcp', 'oauth', 'db', 'bin', 'sdk'].map((folder) => `${folder}/**/*.test.ts`),
)
const GLOBAL_SETUP = 'test/support/global-setup.ts'
/** Repository tests that ask a migrated database; they run where the walks run. */
const NEEDS_DATABASE = matching('test/repository/schema.test.ts')
const walks = (...names: string[]) => names.map((name) => `test/walks/${name}.test.ts`)
export const WALKS = matching(...walks('**/*'))
/** What these prove lies in the managed databases: without a server for those, a run on Postgres would be the embedded one again. */
export const ABOUT_VECTORS = matching(...walks('ask-a-source', 'search-configuration'))
export const WITHOUT_SERVER = process.env['TEST_PGVECTOR_URL'] ? [] : ABOUT_VECTORS
/**
 * Walks that run on both engines here, because they show where the two differ: transactions, paging, vectors. The others
 * run here on Postgres, and embedded among the long tests.
 */
export const ON_EMBEDDED = matching(...walks('apps', 'idempotency', 'search-configuration'))
/**
 * Among the long tests, on both engines but for CI, because `npm test` has four minutes: they start programs and servers, wait for mail,
 * or take seconds for going through everything that is there.
 */
export const SLOW_WALKS = matching(
  ...walks('email-integrations', 'managed-postgres', 'process', 'source-health', 'tenant-limits'),
  ...walks('failing-sources', 'databases', 'search-everywhere', 'question-limits', 'connector-documents'),
  ...walks(
    'delivery-lanes',
    'shared-posts',
    'retry-and-recover',
    'audit',
    'paging',
    'bad-input',
    'scopes',
    'delivery-promises',
  ),
  ...walks('revisions', 'pipelines', 'deployments', 'logs', 'checks', 'activity', 'connector-registration'),
  ...walks('maintenance', 'maintenance-races', 'maintenance-clients', 'maintenance-loop', 'run-endings'),
  ...walks(
    'loads',
    'load-races',
    'ask-a-source',
    'proposals',
    'workload-identity',
    'connector-sources',
    'notifications',
  ),
  ...walks('enterprise-attacks', 'enterprise-endings', 'enterprise-races', 'identity-provider'),
  ...walks('machine-agents', 'machine-agent-endings', 'enterprise-own-clients', 'connector-attacks'),
  ...walks('delivery-workbench', 'source-tables', 'findings'),
  ...walks('hidden-agents'),
)
/** The client sees a server through HTTP only; what engine is behind it is all the same. Every command is among the long tests. */
const ABOUT_THE_CLIENT = matching('test/cli/installed.test.ts')
export const onEngine = (engine: 'pglite' | 'postgres', files: Project): Project => ({
  ...files,
  globalSetup: [GLOBAL_SETUP],
  setupFiles: ['test/support/check-statements.ts'],
  provide: { engine },
})

if (!process.env['TEST_PGVECTOR_URL']) {
  console.log(
    'Managed databases are tested embedded only: TEST_PGVECTOR_URL names no Postgres server with pgvector.',
  )
}

const chromium = findChromium()
if (!chromium) console.log('Browser tests are skipped: no Chromium at CHROMIUM_PATH or /usr/bin/chromium*.')
const browser = (path: string) =>
  project('browser', {
    // The rest of the folder takes minutes and is among the long tests.
    include: matching('test/browser/journey.test.ts'),
    globalSetup: [GLOBAL_SETUP],
    provide: { engine: 'pglite', chromium: path, everyLook: false },
  })

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Processes, because the program owns its process in earnest: signals, umask, workers of its own. Not isolated: a
    // worker loads the program and opens a database once for all its files; isolated, the same takes some forty times
    // as long. The price: no module state, no mocks, no writes to process.env.
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      project('unit', { include: UNITS, exclude: ENGINES }),
      project('repository', { include: matching('test/repository/*.test.ts'), exclude: NEEDS_DATABASE }),
      project(
        'pglite',
        onEngine('pglite', { include: [...ON_EMBEDDED, ...NEEDS_DATABASE, ...ABOUT_THE_CLIENT] }),
      ),
      project(
        'postgres',
        onEngine('postgres', {
          include: [...WALKS, ...NEEDS_DATABASE],
          exclude: [...SLOW_WALKS, ...WITHOUT_SERVER],
        }),
      ),
      ...(chromium ? [browser(chromium)] : []),
    ],
  },
})
