/** What `npm test` runs: units, the repository's own rules, and walks on a real Postgres server. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { countOperations } from './count-operations.ts'
import { findChromium } from './find-chromium.ts'
import { files, matching } from './matching.ts'

declare module 'vitest' {
  interface ProvidedContext {
    engine: 'pglite' | 'postgres'
    /** `hosted`: walks run with the auth service at a vendor's. Left out: our own. */
    auth: 'self' | 'hosted'
    /** Walks reach Postgres through a PgBouncer in transaction mode. Left out: directly. */
    isPooled: boolean
    /** Every case, look and path; without it those that show most, because `npm test` has four minutes. */
    everyCase: boolean
  }
}

export type Project = NonNullable<TestProjectInlineConfiguration['test']>
const project = (name: string, test: Project): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
})

/**
 * `npm run test:long` runs them: they start, stop and kill databases and models, for a minute and a half.
 */
export const SLOW_UNITS = matching(
  'db/backup.test.ts',
  'db/embedded.test.ts',
  'db/lost-database.test.ts',
  'db/managed/attached-thread.test.ts',
  'db/managed/embedded-databases.test.ts',
  'db/migrate.test.ts',
  'db/safe-transactions.test.ts',
  'db/template.test.ts',
  'db/unpack-template.test.ts',
  'src/cores/databases/write-to-database.test.ts',
  'src/sample/read-sample.test.ts',
)

export const UNITS = matching(
  ...['src', 'mcp', 'oauth', 'db', 'bin', 'sdk'].map((folder) => `${folder}/**/*.test.ts`),
)
const repository = (name: string) => `test/repository/${name}.test.ts`
const GLOBAL_SETUP = 'test/support/global-setup.ts'
export const RESOLVE = 'test/support/resolve-relative.ts'
/**
 * About texts, packages and who may import whom, which no fault of the program shows in: `npm run check` runs them, and
 * `npm test` leaves them out.
 */
const ABOUT_TEXTS = matching(
  ...['chart', 'chart-kinds', 'chart-schema', 'doc-references', 'documented-commands', 'enterprise-doc'].map(
    repository,
  ),
  ...['github-files', 'glossary', 'image', 'skill-bundle', 'skill-texts', 'style-sheets', 'systemd-unit'].map(
    repository,
  ),
  ...['architecture', 'client-name', 'documented', 'kernel', 'operations', 'template'].map(repository),
  ...['troubleshooting', 'verbs'].map(repository),
)
/** Repository tests that ask a migrated database: `npm test` one on Postgres, `npm run check` an embedded one. */
const NEEDS_DATABASE = matching('test/repository/schema.test.ts')
const walks = (...names: string[]) => names.map((name) => `test/walks/${name}.test.ts`)
export const WALKS = matching(...walks('**/*'))
/** What these prove lies in the managed databases: without a server for those, a run on Postgres would be the embedded one again. */
export const ABOUT_VECTORS = matching(...walks('ask-a-source', 'search-configuration'))
export const WITHOUT_SERVER = process.env['TEST_PGVECTOR_URL'] ? [] : ABOUT_VECTORS
/**
 * Shows here that the embedded engine serves at all. All walks run on it among the long tests, because a second pass is twice
 * the time for faults that are seldom the engine's.
 */
export const ON_EMBEDDED = matching(...walks('inbox'))
/**
 * Among the long tests, on both engines, because `npm test` has four minutes. Each operation and each loop has another walk
 * there (test/count-operations.ts, test/repository/loops.test.ts); these start programs and servers, wait for mail, or take
 * seconds for going through everything that is there.
 */
export const SLOW_WALKS = matching(
  ...walks(
    'activity',
    'ask-a-source',
    'audit',
    'bad-input',
    'cli-login-program',
    'connector-attacks',
    'connector-documents',
  ),
  ...walks('connector-old-approvals', 'connector-refusals', 'connector-registration', 'connector-rotation'),
  ...walks('connector-sources', 'console/data-source-files', 'databases', 'delivery-workbench'),
  ...walks('email-integrations', 'enterprise-client', 'eval-changes', 'failing-sources', 'identity-provider'),
  ...walks('invitation-limits', 'list-totals', 'load-races', 'loads'),
  ...walks(
    'loaded-formats',
    'machine-agent-endings',
    'mail-over-smtp',
    'maintenance-clients',
    'maintenance-races',
    'managed-postgres',
    'mcp-interleaved',
  ),
  ...walks('process', 'revisions', 'run-endings', 'scopes', 'search-everywhere', 'sign-in-socket'),
  ...walks('source-health', 'source-tables', 'tenant-limits', 'workload-identity'),
)
/** What a test polls for comes soon, but on a busy machine not within a second. */
export const POLLS = { expect: { poll: { timeout: 20_000, interval: 20 } } }
export const onEngine = (
  engine: 'pglite' | 'postgres',
  files: Project,
  { everyCase = true } = {},
): Project => ({
  ...files,
  ...POLLS,
  globalSetup: [GLOBAL_SETUP],
  setupFiles: [RESOLVE, 'test/support/check-statements.ts'],
  provide: { engine, everyCase },
})
/** `npm run test:file` asks for all of them. */
const CASES = { everyCase: process.env['EVERY_CASE'] === '1' }

/** Of the files that have more cases than `npm test` runs: the long tests run them whole. */
export const withMoreCases = (patterns: readonly string[]): string[] =>
  files(patterns).filter((file) =>
    readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').includes(`inject('everyCase')`),
  )

/** As the program itself runs: by Node, with its types stripped, compiled once for all runs. Nothing here is mocked. */
export const BY_NODE = {
  experimental: { viteModuleRunner: false, nodeLoader: false },
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)) },
}

if (!process.env['TEST_PGVECTOR_URL']) {
  console.log(
    'Managed databases are tested embedded only: TEST_PGVECTOR_URL names no Postgres server with pgvector.',
  )
}

const hasChromium = findChromium() !== undefined
if (!hasChromium)
  console.log('Browser tests are skipped: no Chromium at CHROMIUM_PATH or /usr/bin/chromium*.')
/** The rest of the folder takes minutes and is among the long tests. */
const IN_BROWSER = hasChromium ? matching('test/browser/journey.test.ts') : []

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    // Processes, because the program owns its process in earnest: signals, umask, workers of its own. Not isolated: a
    // worker loads the program and opens a database once for all its files; isolated, the same takes some forty times
    // as long. The price: no module state, no mocks, no writes to process.env.
    pool: 'forks',
    isolate: false,
    ...BY_NODE,
    // Of two cores: with four, each loading and warming the program by itself, it takes as long and more of their time.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    ...POLLS,
    reporters: ['default', countOperations],
    projects: [
      // The repository's rules with them: a project of their own would load the program once more.
      project('unit', {
        include: [...UNITS, ...matching('test/repository/*.test.ts')],
        exclude: [...SLOW_UNITS, ...NEEDS_DATABASE, ...ABOUT_TEXTS],
        setupFiles: [RESOLVE],
        provide: CASES,
      }),
      project('texts', onEngine('pglite', { include: [...ABOUT_TEXTS, ...NEEDS_DATABASE] })),
      project('pglite', onEngine('pglite', { include: ON_EMBEDDED }, CASES)),
      project(
        'postgres',
        onEngine(
          'postgres',
          {
            include: [...WALKS, ...NEEDS_DATABASE, ...IN_BROWSER],
            exclude: [...SLOW_WALKS, ...WITHOUT_SERVER],
          },
          CASES,
        ),
      ),
    ],
  },
})
