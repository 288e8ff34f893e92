import { expect, test } from 'vitest'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { LOG_SEARCH_SECONDS } from '../../contracts/limits.ts'
import type { TurnOptions } from '../work/turns.ts'
import type { LogReads } from '../logs/index.ts'
import { logGroups } from './log-groups.ts'
import { readLogs } from './read-logs.ts'
import type { ToolDeps, ToolRun } from './tool.ts'

const RUN: ToolRun = {
  orgId: 'org_1',
  appId: 'app_1',
  executionId: 'exec_1',
  fence: 1,
  baseRevisionId: null,
  model: 'rules',
  startedAt: new Date(0),
}

const taking = (take: (signal: AbortSignal | undefined) => unknown) =>
  ({
    searches: { take: async (_keys: unknown, _work: unknown, { signal }: TurnOptions) => take(signal) },
  }) as unknown as LogReads

test('runs search logs in turns of their own, and not once they have hung up', async () => {
  const { signal } = new AbortController()
  const seen: unknown[] = []
  const deps = {
    clock: () => new Date('2026-03-02T03:00:00Z'),
    signal,
    // Of people, which are all taken.
    logReads: taking(() => expect.fail('it waits for people')),
    runLogReads: taking((given) => {
      seen.push(given)
      return []
    }),
  } as unknown as ToolDeps
  expect((await logGroups(deps, RUN, { offset: 0 })).result).toMatchObject({ groups: [] })
  expect((await readLogs(deps, RUN, { level: 'error', limit: 10 })).result).toMatchObject({ lines: [] })
  expect(seen).toEqual([signal, signal])
  // Waiting and searching, before the agent runner gives up.
  expect(FAIR_QUEUES.runLogSearches.waitMs + LOG_SEARCH_SECONDS * 1000).toBeLessThan(28_000)
  expect(FAIR_QUEUES.sourceSearches.waitMs + 5_000).toBeLessThan(28_000)
})
