/**
 * Which third of the long proofs a file belongs to. `.ci/run` has time for one of them and takes turns: LONG_TESTS=2/3 asks
 * for the second. Without it all run.
 */
import { createHash } from 'node:crypto'

export type Third = 1 | 2 | 3

/** About how many seconds each takes on two cores, beside others where it runs so. The three thirds follow from these numbers alone. */
export const SECONDS: Readonly<Record<string, number>> = {
  'test/browser/agents.test.ts': 25,
  'test/browser/chat-cards.test.ts': 20,
  'test/browser/cli-login.test.ts': 10,
  'test/browser/consent.test.ts': 55,
  'test/browser/console.test.ts': 340,
  'test/browser/delivery-workbench.test.ts': 20,
  'test/browser/incident-journeys.test.ts': 55,
  'test/browser/journey.test.ts': 55,
  'test/browser/load-file.test.ts': 55,
  'test/browser/maintenance-loop.test.ts': 20,
  'test/browser/maintenance-pages.test.ts': 40,
  'test/browser/shell.test.ts': 55,
  'test/cli/commands.test.ts': 85,
  'test/cli/installed.test.ts': 10,
  'test/conformance/authorization-server.test.ts': 5,
  'test/conformance/machine-clients.test.ts': 20,
  'test/conformance/mcp-server.test.ts': 20,
  'test/conformance/real-clients.test.ts': 50,
  'test/conformance/skills.test.ts': 10,
  'test/long/accept-under-load.test.ts': 80,
  'test/long/agent-runner-apart.test.ts': 90,
  'test/long/benches-of-processes.test.ts': 270,
  'test/long/benches-of-requests.test.ts': 370,
  'test/long/benches-of-work.test.ts': 410,
  'test/long/clients.test.ts': 155,
  'test/long/closing-receiver.test.ts': 50,
  'test/long/connector-two-processes.test.ts': 30,
  'test/long/data-sources-two-processes.test.ts': 60,
  'test/long/document-corpus.test.ts': 245,
  'test/long/ended-threads.test.ts': 45,
  'test/long/ending-receipt.test.ts': 95,
  'test/long/first-start.test.ts': 40,
  'test/long/fuzz.test.ts': 765,
  'test/long/golden-embeddings.test.ts': 115,
  'test/long/kill-checks.test.ts': 20,
  'test/long/kill-configuration.test.ts': 100,
  'test/long/kill-documents.test.ts': 185,
  'test/long/kill-first-run.test.ts': 135,
  'test/long/kill-install.test.ts': 10,
  'test/long/kill-load.test.ts': 375,
  'test/long/kill-maintenance.test.ts': 15,
  'test/long/kill-notifications.test.ts': 165,
  'test/long/kill-one-process-run.test.ts': 75,
  'test/long/kill-pipelines.test.ts': 70,
  'test/long/kill-restore.test.ts': 85,
  'test/long/lost-database.test.ts': 10,
  'test/long/lost-tail.test.ts': 135,
  'test/long/maintenance-story.test.ts': 435,
  'test/long/mcp-load.test.ts': 100,
  'test/long/model-flood.test.ts': 15,
  'test/long/months-under-load.test.ts': 10,
  'test/long/neighbors.test.ts': 90,
  'test/long/npx-skills.test.ts': 5,
  'test/long/one-process.test.ts': 80,
  'test/long/openai-client.test.ts': 10,
  'test/long/otlp-exporters.test.ts': 5,
  'test/long/packed-client.test.ts': 5,
  'test/long/pgbouncer.test.ts': 20,
  'test/long/planted-channel.test.ts': 180,
  'test/long/postgres-backup.test.ts': 5,
  'test/long/programs.test.ts': 10,
  'test/long/readme.test.ts': 35,
  'test/long/registration-flood.test.ts': 25,
  'test/long/release.test.ts': 110,
  'test/long/replicas.test.ts': 315,
  'test/long/rights.test.ts': 170,
  'test/long/role-matrix.test.ts': 150,
  'test/long/row-access.test.ts': 175,
  'test/long/runaway-question.test.ts': 20,
  'test/long/runner.test.ts': 155,
  'test/long/sample.test.ts': 70,
  'test/long/seeded-apps.test.ts': 35,
  'test/long/server-bundle.test.ts': 95,
  'test/long/silent-sockets.test.ts': 10,
  'test/long/split.test.ts': 40,
  'test/long/standby.test.ts': 50,
  'test/long/starved-machine.test.ts': 110,
  'test/long/two-hosts.test.ts': 15,
  'test/long/unused-agents.test.ts': 20,
  'test/long/upgrades.test.ts': 120,
  'test/long/worker-sdk.test.ts': 75,
}

const long = (names: readonly string[]): readonly string[] => names.map((name) => `test/long/${name}.test.ts`)

/** What asks how long something takes, how much memory is kept, or what a crowd does to a single caller: one after the other. */
export const ONE_BY_ONE = long([
  'accept-under-load',
  'closing-receiver',
  'ending-receipt',
  'mcp-load',
  'model-flood',
  'neighbors',
  'registration-flood',
  'runaway-question',
  'silent-sockets',
  'starved-machine',
])

/**
 * What waits, for servers to come back and processes to start, and has deadlines between processes: two at a time. Four have
 * no time left for their deadlines.
 */
export const TWO_AT_ONCE = long([
  'agent-runner-apart',
  'ended-threads',
  'first-start',
  'lost-database',
  'lost-tail',
  'one-process',
  'replicas',
  'runner',
  'split',
  'standby',
])

/** Of a whole run. */
export const shareOf = (file: string): number => SECONDS[file]! / atOnce(file)
const atOnce = (file: string): number => {
  if (ONE_BY_ONE.includes(file)) return 1
  return TWO_AT_ONCE.includes(file) ? 2 : 4
}

/** The longest first, each to the third that has least. */
const BY_SECONDS = ((): ReadonlyMap<string, Third> => {
  const thirds = new Map<string, Third>()
  const sums = { 1: 0, 2: 0, 3: 0 }
  const longestFirst = Object.keys(SECONDS).toSorted((a, b) => shareOf(b) - shareOf(a) || (a < b ? -1 : 1))
  for (const file of longestFirst) {
    const least = ([1, 2, 3] as const).reduce((best, third) => (sums[third] < sums[best] ? third : best))
    sums[least] += shareOf(file)
    thirds.set(file, least)
  }
  return thirds
})()

/** Walks, units and whatever has no number: many and short, so a hash of the name is even enough, and stays as it is. */
export const thirdOf = (file: string): Third =>
  BY_SECONDS.get(file) ?? (((createHash('sha256').update(file).digest()[0]! % 3) + 1) as Third)

/** Undefined: all. */
export function askedThird(given = process.env['LONG_TESTS']): Third | undefined {
  if (given === undefined || given === '') return undefined
  const third = /^([123])\/3$/.exec(given)?.[1]
  if (third === undefined) throw new Error(`LONG_TESTS is 1/3, 2/3 or 3/3, or not set, and not ${given}`)
  return Number(third) as Third
}
