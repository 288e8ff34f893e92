/** The seeded apps: tiny programs with logs, in `test/seeded-apps`, and how an analyst did on them. Their format is described in its folder held-out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { LOG_LEVELS } from '../../src/contracts/log-levels.ts'
import type { LogRecord } from '../../src/cores/logs/log-record.ts'
import { readNdjson } from '../../src/cores/logs/read-ndjson.ts'

const FOLDER = fileURLToPath(new URL('../seeded-apps', import.meta.url))
/** Folders of apps that somebody wrote who had not read the rules: nobody tuned the rules on them, or only after they were scored. */
const HELD_OUT = ['held-out', 'held-out-before'] as const
const ENTRIES_MAX = 5_000
const MINUTE_MS = 60_000

const Minutes = z.number().min(0)
const Facts = z.strictObject({
  about: z.string(),
  deployments: z.array(z.strictObject({ minutes_ago: Minutes, state: z.enum(['succeeded', 'failed']) })),
  checks: z.array(
    z.strictObject({
      name: z.string().min(1).max(100),
      kind: z.enum(['http', 'logs']),
      every_minutes: z.number().min(1),
      results: z.string().regex(/^[pfe]{1,30}$/),
    }),
  ),
  finding: z.strictObject({ path: z.string(), lines: z.tuple([z.int().min(1), z.int().min(1)]) }).nullable(),
})
const Entry = z.strictObject({
  minutes_ago: Minutes,
  message: z.string().min(1),
  level: z.enum(LOG_LEVELS).optional(),
  times: z.int().min(1).default(1),
  every_minutes: z.number().min(0).default(0),
})

export type SeededApp = z.output<typeof Facts> & {
  readonly name: string
  readonly group: 'own' | (typeof HELD_OUT)[number]
  readonly files: readonly { readonly path: string; readonly content: Buffer }[]
  readonly entries: readonly z.output<typeof Entry>[]
}

export const readSeededApps = (): SeededApp[] => [
  ...appNames(FOLDER).map((name) => readApp(join(FOLDER, name), name, 'own')),
  ...HELD_OUT.flatMap((group) =>
    appNames(join(FOLDER, group)).map((name) => readApp(join(FOLDER, group, name), name, group)),
  ),
]

const appNames = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !HELD_OUT.some((group) => group === entry.name))
    .map(({ name }) => name)
    .toSorted()

function readApp(folder: string, name: string, group: SeededApp['group']): SeededApp {
  const facts = Facts.parse(JSON.parse(readFileSync(join(folder, 'app.json'), 'utf8')))
  const lines = readFileSync(join(folder, 'logs.ndjson'), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const entries = lines.map((line) => Entry.parse(JSON.parse(line)))
  const files = filesIn(join(folder, 'source'))
  const { finding } = facts
  if (finding && !files.some(({ path }) => path === finding.path))
    throw new Error(`${name} has no ${finding.path}`)
  if (entries.reduce((sum, { times }) => sum + times, 0) > ENTRIES_MAX)
    throw new Error(`${name} logs too much`)
  return { ...facts, name, group, files, entries }
}

const filesIn = (root: string): SeededApp['files'] =>
  existsSync(root)
    ? readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name, parentPath }) => ({
          path: relative(root, join(parentPath, name)),
          content: readFileSync(join(parentPath, name)),
        }))
        .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    : []

/** Oldest first; entries of the same moment in the order of the file. */
export async function recordsOf({ entries }: SeededApp, now: Date): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for (const [order, { minutes_ago, message, level, times, every_minutes }] of entries.entries()) {
    for (let index = 0; index < times; index += 1) {
      const text = message
        .replaceAll('{n}', String(times - index))
        .replaceAll('{r}', String(scattered(order, index)))
      const at = new Date(now.getTime() - (minutes_ago + index * every_minutes) * MINUTE_MS)
      const read = level === undefined ? await readLine(text) : { level, text }
      records.push({ ...read, at, service: null, traceId: null })
    }
  }
  return records.toSorted((a, b) => a.at!.getTime() - b.at!.getTime())
}

/** As the product reads what a program writes: a JSON object becomes its message with the stack below it. */
async function readLine(text: string): Promise<Pick<LogRecord, 'level' | 'text'>> {
  const { records } = await readNdjson(Buffer.from(text))
  const [first] = records
  return { level: first!.level, text: records.length === 1 ? first!.text : text }
}

/** The same numbers every time, and no pattern that could be taken for one. */
const scattered = (order: number, index: number): number =>
  1 + ((Math.imul(order * 131 + index + 1, 2_654_435_761) >>> 7) % 999)

export type Location = { readonly path: string; readonly line: number } | null

/**
 * How many were found, missed, and false, by the file that a finding names, and how many of those found name a line of the bug.
 * A finding without a place is false where another is expected.
 */
export function scoreOf({ finding }: SeededApp, recorded: readonly Location[]) {
  const isIt = (location: Location): boolean => finding !== null && location?.path === finding.path
  const isFound = recorded.some(isIt)
  const [first, last] = finding?.lines ?? [0, 0]
  return {
    found: Number(isFound),
    missed: Number(finding !== null && !isFound),
    false: recorded.filter((location) => !isIt(location)).length,
    exact: Number(recorded.some((one) => isIt(one) && one!.line >= first && one!.line <= last)),
  }
}
