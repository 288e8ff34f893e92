import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

test('one organization waits for itself, and others do not wait for it', async () => {
  const turns = createTurns({ total: 2, perOrganization: 1 })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const begin = (orgId: string, name: string) =>
    turns.take(orgId, async () => {
      started.push(name)
      await new Promise<void>((end) => ends.set(name, end))
    })
  const all = [begin('a', 'a1'), begin('a', 'a2'), begin('b', 'b1'), begin('c', 'c1')]
  await Promise.resolve()
  expect(started).toEqual(['a1', 'b1'])
  ends.get('b1')!()
  await all[2]
  // The next in line is of an organization that has its turn; the one after it is not.
  expect(started).toEqual(['a1', 'b1', 'c1'])
  ends.get('a1')!()
  await all[0]
  expect(started).toEqual(['a1', 'b1', 'c1', 'a2'])
  ends.get('c1')!()
  ends.get('a2')!()
  await Promise.all(all)
})

test('work that fails gives its turn back', async () => {
  const turns = createTurns({ total: 1, perOrganization: 1 })
  await expect(turns.take('a', () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
  expect(await turns.take('a', async () => 'done')).toBe('done')
})
