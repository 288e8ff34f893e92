/** What people read in the findings of the rules. */
import { expect, test } from 'vitest'
import type { SeededApp } from '../../../test/support/seeded-apps.ts'
import { seededTools } from '../../../test/support/seeded-tools.ts'
import { rulesAnalyst } from './analyst.ts'

const NOW = new Date('2026-03-10T03:00:00Z')
const RUN = {
  executionId: 'exe_1',
  model: 'rules',
  appAlias: 'app',
  appName: 'App',
  baseRevision: 'rev_1',
  startedAt: NOW,
}

const CHECK = { name: 'Health', kind: 'http' as const, every_minutes: 10, results: 'pppff' }
const ERROR = 'TypeError: no\n    at total (/srv/app/src/app.js:2:3)'

type Logged = readonly [message: string, minutesAgo: number, times: number]

test.each<[what: string, source: string, logs: Logged[], more: Partial<SeededApp>, summary: RegExp]>([
  [
    'what became slow has its unit',
    'log.info(`report ready in ${ms} ms`)\n',
    [
      ['report ready in 90 ms', 700, 10],
      ['report ready in 900 ms', 5, 10],
    ],
    { deployments: [{ minutes_ago: 600, state: 'succeeded' }] },
    /^What took about 90 ms has taken about 900 ms since deployment \S+, by 20 log lines since /,
  ],
  [
    'what grows',
    'log.info(`queue depth ${jobs.length}`)\n',
    [['queue depth {n}', 5, 60]],
    {},
    /^A number keeps growing, from 1 to 60, by 60 log lines since /,
  ],
  [
    'a check alone',
    '',
    [['ok', 5, 1]],
    { checks: [CHECK] },
    /^A check of the kind http has failed since 2026-/,
  ],
  [
    'a check beside an error',
    'export function total(item) {\n  return no\n}\n',
    [[ERROR, 11, 1]],
    { checks: [CHECK] },
    / A check has failed since then\.$/,
  ],
  [
    'checks beside an error',
    'export function total(item) {\n  return no\n}\n',
    [[ERROR, 11, 1]],
    { checks: [CHECK, { ...CHECK, name: 'Other' }] },
    / 2 checks have failed since then\.$/,
  ],
])('%s', async (_what, source, logs, more, summary) => {
  const app: SeededApp = {
    name: 'app',
    about: '',
    group: 'own',
    deployments: [],
    checks: [],
    finding: null,
    files: [{ path: 'src/app.js', content: Buffer.from(source) }],
    entries: logs.map(([message, minutes_ago, times]) => ({
      message,
      minutes_ago,
      times,
      every_minutes: 20,
      level: message === ERROR ? 'error' : 'info',
    })),
    ...more,
  }
  const { tools, recorded } = await seededTools(app, NOW)
  await rulesAnalyst(RUN, tools, new AbortController().signal)
  expect(recorded.map((finding) => finding.summary)).toEqual([expect.stringMatching(summary)])
})
