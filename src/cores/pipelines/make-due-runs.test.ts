import { expect, test } from 'vitest'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import { judgeDueRun, type DueRun } from './make-due-runs.ts'

const AT_ITS_TIME: DueRun = {
  isKnown: true,
  isPastGrace: false,
  hasWorker: true,
  open: { running: 0, waiting: 0 },
  policy: 'skip',
}
const [RUNNING, WAITING] = [
  { running: 1, waiting: 0 },
  { running: 0, waiting: 1 },
]
const FULL = { running: 1, waiting: PIPELINE_RUNS.waiting }
const DOWN = { isKnown: false, hasWorker: false }

test.each<[string, Partial<DueRun>, string]>([
  ['a worker is there', {}, 'queued claimable'],
  ['no worker', { hasWorker: false }, 'host_offline claimable'],
  ['the run before runs: skip', { open: RUNNING }, 'skipped'],
  ['the run before waits: skip', { open: WAITING }, 'skipped'],
  ['the run before runs: queue', { open: RUNNING, policy: 'queue' }, 'queued claimable'],
  ['the run before runs: allow', { open: RUNNING, policy: 'allow' }, 'queued claimable'],
  ['as many wait as may: queue', { open: FULL, policy: 'queue' }, 'skipped'],
  ['as many wait as may: allow', { open: FULL, policy: 'allow' }, 'skipped'],
  // That nobody is there is worth telling, whatever waits.
  ['no worker, one waits: skip', { hasWorker: false, open: WAITING }, 'host_offline'],
  [
    'no worker, one waits: queue',
    { hasWorker: false, open: WAITING, policy: 'queue' },
    'host_offline claimable',
  ],
  // The server's own downtime is no worker's fault.
  ['the server was down', DOWN, 'queued SERVER_DOWN claimable'],
  ['the server was down, a worker is back', { isKnown: false }, 'queued SERVER_DOWN claimable'],
  ['the server was down for long', { ...DOWN, isPastGrace: true }, 'missed SERVER_DOWN'],
  ['the server was down, one waits', { ...DOWN, open: WAITING }, 'skipped'],
])('%s', (_, given, expected) => {
  const { state, code, isClaimable } = judgeDueRun({ ...AT_ITS_TIME, ...given })
  expect([state, code, isClaimable && 'claimable'].filter(Boolean).join(' ')).toBe(expected)
})
