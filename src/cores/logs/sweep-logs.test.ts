import { expect, test } from 'vitest'
import type { Handle } from '../../../db/connect.ts'
import { separately } from '../separately.ts'
import { sweepLogs } from './sweep-logs.ts'

test('a partition that cannot be made or dropped now leaves everything else as it should be', async () => {
  const tried: string[] = []
  const db = {
    execute: async ({ queryChunks }: { queryChunks: { value?: string[] }[] }) => {
      const text = queryChunks.flatMap(({ value }) => value ?? []).join(' ')
      tried.push(text.includes('pg_inherits') ? 'list' : text.includes('delete from ') ? 'groups' : 'apps')
      return text.includes('pg_inherits') ? [{ name: 'log_lines_20200101' }, { name: 'log_lines_rest' }] : []
    },
    transaction: async () => {
      tried.push('locked')
      throw new Error('canceling statement due to lock timeout')
    },
  } as unknown as Handle
  const sweeping = sweepLogs({ db, clock: () => new Date('2026-11-16T12:00:00Z'), partitions: true })
  await expect(sweeping).rejects.toThrow('2 of the parts failed')
  // The first day that cannot be made ends it: the others would take as long.
  expect(tried).toEqual(['locked', 'list', 'locked', 'apps', 'groups'])
})

test('parts that work are no failure, and what failed is named', async () => {
  const parts = separately()
  await parts.run(async () => 'done')
  parts.end()
  await parts.run(() => Promise.reject(new Error('broken')))
  expect(() => parts.end()).toThrow(AggregateError)
})
