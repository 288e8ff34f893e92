/**
 * Which third of the long proofs a file belongs to. `.ci/run` has time for one of them and takes turns: LONG_TESTS=2/3 asks
 * for the second. Without it all run.
 */
import { createHash } from 'node:crypto'

export type Third = 1 | 2 | 3

/** About how many seconds each takes on two cores. The three thirds follow from these numbers alone. */
export const SECONDS: Readonly<Record<string, number>> = {
  'test/browser/agents.test.ts': 20,
  'test/browser/chat-cards.test.ts': 40,
  'test/browser/cli-login.test.ts': 20,
  'test/browser/consent.test.ts': 20,
  'test/browser/console.test.ts': 240,
  'test/browser/delivery-workbench.test.ts': 20,
  'test/browser/incident-journeys.test.ts': 40,
  'test/browser/journey.test.ts': 20,
  'test/browser/load-file.test.ts': 20,
  'test/browser/maintenance-loop.test.ts': 30,
  'test/browser/maintenance-pages.test.ts': 20,
  'test/browser/shell.test.ts': 20,
  'test/cli/commands.test.ts': 90,
  'test/cli/installed.test.ts': 15,
  'test/conformance/authorization-server.test.ts': 20,
  'test/conformance/machine-clients.test.ts': 20,
  'test/conformance/mcp-server.test.ts': 30,
  'test/conformance/real-clients.test.ts': 30,
  'test/conformance/skills.test.ts': 10,
  'test/long/accept-under-load.test.ts': 60,
  'test/long/agent-runner-apart.test.ts': 40,
  'test/long/benches-of-processes.test.ts': 130,
  'test/long/benches-of-requests.test.ts': 220,
  'test/long/benches-of-work.test.ts': 170,
  'test/long/clients.test.ts': 60,
  'test/long/closing-receiver.test.ts': 60,
  'test/long/connector-two-processes.test.ts': 30,
  'test/long/data-sources-two-processes.test.ts': 60,
  'test/long/document-corpus.test.ts': 240,
  'test/long/ended-threads.test.ts': 120,
  'test/long/ending-receipt.test.ts': 240,
  'test/long/first-start.test.ts': 100,
  'test/long/fuzz.test.ts': 180,
  'test/long/golden-embeddings.test.ts': 90,
  'test/long/kill-checks.test.ts': 40,
  'test/long/kill-configuration.test.ts': 60,
  'test/long/kill-documents.test.ts': 300,
  'test/long/kill-first-run.test.ts': 60,
  'test/long/kill-install.test.ts': 40,
  'test/long/kill-load.test.ts': 600,
  'test/long/kill-maintenance.test.ts': 60,
  'test/long/kill-notifications.test.ts': 120,
  'test/long/kill-one-process-run.test.ts': 40,
  'test/long/kill-pipelines.test.ts': 60,
  'test/long/kill-restore.test.ts': 120,
  'test/long/lost-database.test.ts': 25,
  'test/long/lost-tail.test.ts': 100,
  'test/long/maintenance-story.test.ts': 150,
  'test/long/mcp-load.test.ts': 60,
  'test/long/model-flood.test.ts': 60,
  'test/long/months-under-load.test.ts': 40,
  'test/long/neighbors.test.ts': 90,
  'test/long/npx-skills.test.ts': 20,
  'test/long/one-process.test.ts': 90,
  'test/long/openai-client.test.ts': 15,
  'test/long/otlp-exporters.test.ts': 20,
  'test/long/packed-client.test.ts': 30,
  'test/long/pgbouncer.test.ts': 30,
  'test/long/planted-channel.test.ts': 30,
  'test/long/postgres-backup.test.ts': 40,
  'test/long/programs.test.ts': 30,
  'test/long/readme.test.ts': 60,
  'test/long/registration-flood.test.ts': 60,
  'test/long/release.test.ts': 200,
  'test/long/replicas.test.ts': 310,
  'test/long/rights.test.ts': 120,
  'test/long/role-matrix.test.ts': 60,
  'test/long/row-access.test.ts': 240,
  'test/long/runaway-question.test.ts': 30,
  'test/long/runner.test.ts': 140,
  'test/long/sample.test.ts': 40,
  'test/long/seeded-apps.test.ts': 60,
  'test/long/server-bundle.test.ts': 60,
  'test/long/silent-sockets.test.ts': 30,
  'test/long/split.test.ts': 60,
  'test/long/standby.test.ts': 90,
  'test/long/starved-machine.test.ts': 360,
  'test/long/two-hosts.test.ts': 60,
  'test/long/unused-agents.test.ts': 60,
  'test/long/upgrades.test.ts': 70,
  'test/long/worker-sdk.test.ts': 40,
}

/** What asks how long something takes, how much memory is kept, or what a crowd does to a single caller: one after the other. */
export const ONE_BY_ONE: readonly string[] = [
  'accept-under-load',
  'closing-receiver',
  'ended-threads',
  'ending-receipt',
  'first-start',
  'mcp-load',
  'model-flood',
  'neighbors',
  'one-process',
  'registration-flood',
  'runaway-question',
  'silent-sockets',
  'starved-machine',
].map((name) => `test/long/${name}.test.ts`)

/** Of a whole run: the others run two or three at a time. */
export const shareOf = (file: string): number => SECONDS[file]! * (ONE_BY_ONE.includes(file) ? 2.5 : 1)

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
