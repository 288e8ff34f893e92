/** What `npm run test:long` runs: whole processes, kills, installs, other people's clients and the official suite; minutes where `npm test` takes seconds. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { FILES } from './hosted-exceptions.ts'
import { matching } from './matching.ts'
import { findPgBouncer } from './support/pgbouncer.ts'
import {
  ABOUT_VECTORS,
  ENGINES,
  ON_EMBEDDED,
  onEngine,
  SLOW_WALKS,
  WALKS,
  WITHOUT_SERVER,
} from './vitest.config.ts'

/** What waits more than it works, and asks nothing about time, runs two at a time; the rest one after the other. */
const IN_PARALLEL = matching(
  'test/browser/*.test.ts',
  'test/cli/commands.test.ts',
  'test/conformance/*.test.ts',
  'test/long/clients.test.ts',
  'test/long/fresh-clone.test.ts',
  'test/long/kill-install.test.ts',
  'test/long/npx-skills.test.ts',
  'test/long/openai-client.test.ts',
  'test/long/otlp-exporters.test.ts',
  'test/long/packed-client.test.ts',
  'test/long/readme.test.ts',
  'test/long/release.test.ts',
  'test/long/role-matrix.test.ts',
  'test/long/sample.test.ts',
  'test/long/seeded-apps.test.ts',
  'test/long/split.test.ts',
  'test/long/two-hosts.test.ts',
  'test/long/worker-sdk.test.ts',
  ...ENGINES,
)

/**
 * `.ci/run` has about twenty minutes for long tests and leaves these to whoever runs all of them: floods, load, kills at
 * any moment, thousands of made-up requests, a whole image, the artifacts of a release, first starts on small disks, whole
 * servers dumped and restored, a fresh clone (CI is one), services and databases over several processes. Walks with hosted
 * auth and behind a pooler are left out there, too, and so is the second look at every page of the console.
 */
const IS_CI = process.env['LONG_TESTS'] === 'ci'
const NOT_IN_CI = matching(
  'test/long/accept-under-load.test.ts',
  'test/long/agent-runner-apart.test.ts',
  'test/long/closing-receiver.test.ts',
  'test/long/data-sources-two-processes.test.ts',
  'test/long/first-start.test.ts',
  'test/long/fresh-clone.test.ts',
  'test/long/fuzz.test.ts',
  'test/long/image.test.ts',
  'test/long/kill-checks.test.ts',
  'test/long/kill-configuration.test.ts',
  'test/long/kill-first-run.test.ts',
  'test/long/kill-load.test.ts',
  'test/long/kill-notifications.test.ts',
  'test/long/kill-one-process-run.test.ts',
  'test/long/kill-pipelines.test.ts',
  'test/long/mcp-load.test.ts',
  'test/long/model-flood.test.ts',
  'test/long/neighbors.test.ts',
  'test/long/planted-channel.test.ts',
  'test/long/postgres-backup.test.ts',
  'test/long/release.test.ts',
  'test/long/replicas.test.ts',
  'test/long/runaway-question.test.ts',
  'test/long/runner.test.ts',
  'test/long/sample.test.ts',
  'test/long/split.test.ts',
  'test/long/worker-sdk.test.ts',
)
/** Of the walks that take longest, CI runs these on both engines and the others on Postgres: here the engine itself is used. */
const SLOW_ON_BOTH_IN_CI = matching(
  ...['activity', 'ask-a-source', 'databases', 'loads', 'process'].map(
    (name) => `test/walks/${name}.test.ts`,
  ),
)
const slowOnPostgresInCi = SLOW_WALKS.filter((file) => !SLOW_ON_BOTH_IN_CI.includes(file))

const shared = {
  globalSetup: ['test/support/global-setup.ts'],
  // Two replicas over one database need a server: PGlite has a single connection.
  provide: { engine: 'postgres' as const, auth: 'self' as const, everyLook: true },
  testTimeout: 5 * 60_000,
  hookTimeout: 2 * 60_000,
}

const ABOUT_POOLERS = matching('test/long/pgbouncer.test.ts')

const hasPgBouncer = findPgBouncer() !== undefined
if (!hasPgBouncer && !IS_CI) console.log('Walks behind PgBouncer are skipped: there is no pgbouncer here.')

/** Every walk once more, through a pooler. */
const POOLED: TestProjectInlineConfiguration = {
  test: {
    ...onEngine('postgres', {
      name: 'pgbouncer',
      include: [...(hasPgBouncer ? WALKS : []), ...ABOUT_POOLERS],
      exclude: process.env['TEST_PGVECTOR_URL'] ? [] : ABOUT_VECTORS,
      isolate: false,
      maxWorkers: 2,
      testTimeout: 60_000,
      hookTimeout: 2 * 60_000,
      sequence: { groupOrder: 3 },
    }),
    provide: { engine: 'postgres', isPooled: hasPgBouncer },
  },
}

const HOSTED: TestProjectInlineConfiguration = {
  test: {
    ...shared,
    // Not isolated, as in `npm test`.
    name: 'hosted',
    include: matching('test/walks/*.test.ts'),
    exclude: matching(...Object.keys(FILES)),
    setupFiles: ['test/support/check-statements.ts', 'test/support/hosted-walks.ts'],
    provide: { engine: 'pglite', auth: 'hosted', everyLook: false },
    isolate: false,
    maxWorkers: 2,
    sequence: { groupOrder: 2 },
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    projects: [
      {
        // As in `npm test`: a worker loads the program once for all its files.
        test: onEngine('pglite', {
          name: 'embedded',
          include: WALKS,
          exclude: [...ON_EMBEDDED, ...(IS_CI ? slowOnPostgresInCi : [])],
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        }),
      },
      {
        test: onEngine('postgres', {
          name: 'postgres',
          include: SLOW_WALKS,
          exclude: WITHOUT_SERVER,
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        }),
      },
      {
        test: {
          ...shared,
          name: 'parallel',
          include: IN_PARALLEL,
          exclude: IS_CI ? NOT_IN_CI : [],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'serial',
          include: matching('test/long/*.test.ts'),
          exclude: [...IN_PARALLEL, ...ABOUT_POOLERS, ...(IS_CI ? NOT_IN_CI : [])],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          // Where KUBE_APISERVER names the binary of a real API server; otherwise it says so.
          name: 'kube',
          include: matching('test/kube/*.test.ts'),
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      ...(IS_CI ? [] : [HOSTED, POOLED]),
    ],
  },
})
