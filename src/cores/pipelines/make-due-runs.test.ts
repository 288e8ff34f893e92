import { expect, test } from 'vitest'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import { claimableFrom, judgeDueRun, type DueRun } from './make-due-runs.ts'

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
  // What the policy skips never alerts; that nobody is there was told of the one that waits.
  ['no worker, one waits: skip', { hasWorker: false, open: WAITING }, 'skipped'],
  ['no worker, as many wait as may: queue', { hasWorker: false, open: FULL, policy: 'queue' }, 'skipped'],
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
  ['the server was down for long, one runs', { ...DOWN, isPastGrace: true, open: RUNNING }, 'skipped'],
  // Neither is that it was late itself.
  ['made after its grace, a worker is there', { isPastGrace: true }, 'queued SERVER_DOWN claimable'],
  ['made after its grace, no worker', { isPastGrace: true, hasWorker: false }, 'host_offline claimable'],
])('%s', (_, given, expected) => {
  const { state, code, isClaimable } = judgeDueRun({ ...AT_ITS_TIME, ...given })
  expect([state, code, isClaimable && 'claimable'].filter(Boolean).join(' ')).toBe(expected)
})

test.each([
  ['in time', '12:00:02', '12:10:00', '12:10:00'],
  ['at the end of its grace', '12:09:30', '12:10:00', '12:10:30'],
  ['after its grace', '12:11:30', '12:10:00', '12:12:30'],
])('made %s, a worker has a minute to claim it', (_, now, graceEnds, expected) => {
  const time = (of: string) => new Date(`2026-11-15T${of}Z`)
  expect(claimableFrom(time(now), time(graceEnds))).toEqual(time(expected))
})
