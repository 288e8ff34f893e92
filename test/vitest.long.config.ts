/** What `npm run test:long` runs: whole processes, kills, installs, other people's clients and the official suite; minutes where `npm test` takes seconds. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { FILES } from './hosted-exceptions.ts'
import { askedThird, thirdOf } from './long-thirds.ts'
import { files, matching } from './matching.ts'
import { recordProof } from './record-proof.ts'
import { findPgBouncer } from './support/pgbouncer.ts'
import {
  ABOUT_VECTORS,
  SLOW_UNITS,
  ON_EMBEDDED,
  onEngine,
  SLOW_WALKS,
  WALKS,
  WITHOUT_SERVER,
} from './vitest.config.ts'

/** What waits more than it works, and asks nothing about time, runs two at a time; the rest one after the other. */
const IN_PARALLEL = matching(
  'test/browser/*.test.ts',
  'test/cli/*.test.ts',
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
  ...SLOW_UNITS,
)

/** Each asked for by its variable: a whole image (twice: performed, and built by an engine), and a clone with its packages from the network (which CI is itself). */
export const ASKED_FOR = [
  ...(process.env['LONG_IMAGE'] ? [] : matching('test/long/image.test.ts', 'test/long/built-image.test.ts')),
  ...(process.env['LONG_INSTALLS'] ? [] : matching('test/long/fresh-clone.test.ts')),
]
for (const file of ASKED_FOR) console.log(`Left out: ${file}; LONG_IMAGE=1 and LONG_INSTALLS=1 ask for such.`)

const third = askedThird()
/** Those of them that are in the third that was asked for. */
const ours = (patterns: readonly string[]): string[] =>
  third === undefined ? [...patterns] : files(patterns).filter((file) => thirdOf(file) === third)
if (third !== undefined) console.log(`The ${third}. third of the long tests.`)

const shared = {
  globalSetup: ['test/support/global-setup.ts'],
  // Two replicas over one database need a server: PGlite has a single connection.
  provide: { engine: 'postgres' as const, auth: 'self' as const, everyLook: true },
  testTimeout: 5 * 60_000,
  hookTimeout: 2 * 60_000,
}

const ABOUT_POOLERS = matching('test/long/pgbouncer.test.ts')

const hasPgBouncer = findPgBouncer() !== undefined
if (!hasPgBouncer) console.log('Walks behind PgBouncer are skipped: there is no pgbouncer here.')

/** Every walk once more, through a pooler. */
const POOLED: TestProjectInlineConfiguration = {
  test: {
    ...onEngine('postgres', {
      name: 'pgbouncer',
      include: ours([...(hasPgBouncer ? WALKS : []), ...ABOUT_POOLERS]),
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
    include: ours(matching('test/walks/*.test.ts')),
    exclude: matching(...Object.keys(FILES)),
    setupFiles: ['test/support/check-statements.ts', 'test/support/hosted-walks.ts'],
    provide: { engine: 'pglite', auth: 'hosted' },
    isolate: false,
    maxWorkers: 2,
    sequence: { groupOrder: 2 },
  },
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    reporters: ['default', recordProof(third === undefined ? 'all' : `${third}/3`)],
    projects: [
      {
        // As in `npm test`: a worker loads the program once for all its files.
        test: onEngine('pglite', {
          name: 'embedded',
          include: ours(WALKS),
          exclude: ON_EMBEDDED,
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
          include: ours(SLOW_WALKS),
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
          include: ours(IN_PARALLEL),
          exclude: ASKED_FOR,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'serial',
          include: ours(matching('test/long/*.test.ts')),
          exclude: [...IN_PARALLEL, ...ABOUT_POOLERS, ...ASKED_FOR],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          // Where KUBE_APISERVER names the binary of a real API server; otherwise it says so.
          name: 'kube',
          include: ours(matching('test/kube/*.test.ts')),
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      HOSTED,
      POOLED,
    ],
  },
})
