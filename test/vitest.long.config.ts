/** What `npm run test:long` runs: whole processes, kills, installs, other people's clients and the official suite; minutes where `npm test` takes seconds. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { FILES } from './hosted-exceptions.ts'
import { askedThird, ONE_BY_ONE, thirdOf, TWO_AT_ONCE } from './long-thirds.ts'
import { LongestFirst } from './longest-first.ts'
import { files, matching } from './matching.ts'
import { recordProof } from './record-proof.ts'
import { findPgBouncer } from './support/pgbouncer.ts'
import {
  ABOUT_VECTORS,
  BY_NODE,
  SLOW_UNITS,
  ON_EMBEDDED,
  onEngine,
  RESOLVE,
  POLLS,
  SLOW_WALKS,
  UNITS,
  WALKS,
  withMoreCases,
  WITHOUT_SERVER,
  type Project,
} from './vitest.config.ts'

const long = (name: string) => `test/long/${name}.test.ts`
const walk = (name: string) => `test/walks/${name}.test.ts`

const ABOUT_POOLERS = matching(long('pgbouncer'))

/** Right however slow they are, but for those in ./long-thirds.ts that are not. */
const AT_ONCE = matching(...['cli', 'conformance', 'long'].map((folder) => `test/${folder}/*.test.ts`))
/** Each with a database of its own: people sign in there at the time that it is, and one address may do that a few times a minute. */
const IN_BROWSERS = matching('test/browser/*.test.ts')
/** Two leave some of two cores, because much of it waits; four take as long. */
const WORKERS = 3
/** Of those, the longest wait for leases to lapse. */
const WORKERS_BESIDE_LEASES = 4

/**
 * Each asked for by its variable: a whole image (twice: performed, and built by an engine), a clone with its packages from the
 * network (which CI is itself), and that every bench runs, which needs the packages of bench/.
 */
export const ASKED_FOR = files([
  ...(process.env['LONG_IMAGE'] ? [] : matching(long('image'), long('built-image'))),
  ...(process.env['LONG_INSTALLS'] ? [] : matching(long('fresh-clone'))),
  ...(process.env['LONG_BENCHES'] ? [] : matching(long('benches-of-*'))),
])
for (const file of ASKED_FOR)
  console.log(`Left out: ${file}; LONG_IMAGE=1, LONG_INSTALLS=1 and LONG_BENCHES=1 ask for such.`)

const third = askedThird()
/** Those of them that are in the third that was asked for. */
const ours = (patterns: readonly string[]): string[] =>
  third === undefined ? [...patterns] : files(patterns).filter((file) => thirdOf(file) === third)
if (third !== undefined) console.log(`The ${third}. third of the long tests.`)

const shared = {
  ...POLLS,
  globalSetup: ['test/support/global-setup.ts'],
  setupFiles: [RESOLVE],
  // Two replicas over one database need a server: PGlite has a single connection.
  provide: { engine: 'postgres' as const, auth: 'self' as const, everyCase: true },
  testTimeout: 5 * 60_000,
  hookTimeout: 2 * 60_000,
}

const hasPgBouncer = findPgBouncer() !== undefined
if (!hasPgBouncer) console.log('Walks behind PgBouncer are skipped: there is no pgbouncer here.')

/**
 * Once more through a pooler, with hosted auth where there can be: what `npm test` runs, in which each operation and each loop
 * is, and of the slow walks those that a connection or a credential decides. Both engines run all of them. Pages of the
 * console have no connection to a database.
 */
const SLOW_POOLED = matching(
  ...['bad-input', 'databases', 'delivery-workbench', 'invitation-limits', 'load-races', 'loads'].map(walk),
  ...['machine-agent-endings', 'maintenance-races', 'managed-postgres', 'process', 'run-endings'].map(walk),
  ...['scopes', 'workload-identity'].map(walk),
)
const pooled = (name: string, files: Project): TestProjectInlineConfiguration => ({
  test: {
    ...onEngine('postgres', {
      name,
      exclude: [
        ...SLOW_WALKS.filter((file) => !SLOW_POOLED.includes(file)),
        ...matching('test/walks/console/*.test.ts'),
        ...(process.env['TEST_PGVECTOR_URL'] ? [] : ABOUT_VECTORS),
      ],
      isolate: false,
      maxWorkers: WORKERS,
      testTimeout: 60_000,
      hookTimeout: 2 * 60_000,
      sequence: { groupOrder: 4 },
    }),
    ...files,
  },
})
const OWN_AUTH_ALONE = matching(...Object.keys(FILES))
const POOLED = pooled('pgbouncer', {
  include: ours([...(hasPgBouncer ? OWN_AUTH_ALONE : []), ...ABOUT_POOLERS]),
  provide: { engine: 'postgres', isPooled: hasPgBouncer, everyCase: true },
})
const HOSTED = pooled('hosted', {
  include: ours(files(WALKS).filter((file) => !OWN_AUTH_ALONE.includes(file))),
  setupFiles: [RESOLVE, 'test/support/check-statements.ts', 'test/support/hosted-walks.ts'],
  provide: { engine: 'postgres', auth: 'hosted', isPooled: hasPgBouncer, everyCase: true },
})

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    globalSetup: ['test/support/built-server.ts'],
    ...BY_NODE,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', recordProof(third === undefined ? 'all' : `${third}/3`)],
    projects: [
      {
        // As in `npm test`: a worker loads the program once for all its files.
        test: onEngine('pglite', {
          name: 'embedded',
          include: ours(WALKS),
          exclude: ON_EMBEDDED,
          isolate: false,
          maxWorkers: WORKERS,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        }),
      },
      {
        // The others are in `npm test` on Postgres, and here behind the pooler with every case, but for pages of the console.
        test: onEngine('postgres', {
          name: 'postgres',
          include: ours(SLOW_WALKS),
          exclude: WITHOUT_SERVER,
          isolate: false,
          maxWorkers: WORKERS,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        }),
      },
      {
        test: {
          ...shared,
          name: 'units',
          include: ours([...SLOW_UNITS, ...withMoreCases(UNITS)]),
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'browser',
          include: ours(IN_BROWSERS),
          maxWorkers: WORKERS_BESIDE_LEASES,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          // As the walks: a worker loads the program once for all its files, which share its database.
          name: 'parallel',
          include: ours(AT_ONCE),
          exclude: [...ONE_BY_ONE, ...TWO_AT_ONCE, ...ABOUT_POOLERS, ...ASKED_FOR],
          isolate: false,
          maxWorkers: WORKERS_BESIDE_LEASES,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'waiting',
          include: ours(matching(...TWO_AT_ONCE)),
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...shared,
          name: 'serial',
          include: ours(matching(...ONE_BY_ONE)),
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...shared,
          // Where KUBE_APISERVER names the binary of a real API server; otherwise it says so.
          name: 'kube',
          include: ours(matching('test/kube/*.test.ts')),
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      HOSTED,
      POOLED,
    ],
  },
})
