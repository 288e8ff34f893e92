import { expect, test } from 'vitest'
import { createTurns, type Turns } from './turns.ts'

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

/** Runs until `end`; `started` has the names of those that began. */
function holding(turns: Turns) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const hold = (name: string) =>
    turns.take(name[0]!, async () => {
      started.push(name)
      await new Promise<void>((end) => ends.set(name, end))
    })
  return { started, hold, end: (name: string) => ends.get(name)!() }
}

test('whoever has the fewest running is next, however many of another one wait', async () => {
  const { started, hold, end } = holding(createTurns({ total: 3, perOrganization: 2 }))
  const all = ['a1', 'a2', 'b1', 'a3', 'a4', 'b2', 'b3', 'c1'].map(hold)
  end('a1')
  await all[0]
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1'])
  for (const name of ['a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'b3']) {
    await expect.poll(() => started).toContain(name)
    end(name)
  }
  await Promise.all(all)
})

test('so many of an organization wait, and not for ever; others are not refused for it', async () => {
  const waiting = { perOrganization: 1, ms: 20, refusal: 'too many' }
  const { started, hold, end } = holding(createTurns({ total: 1, perOrganization: 1, waiting }))
  const first = hold('a1')
  const late = hold('a2')
  const refusal = { code: 'RATE_LIMITED', message: 'too many', retryAfterSeconds: 2 }
  await expect(hold('a3')).rejects.toMatchObject(refusal)
  await expect(late).rejects.toMatchObject(refusal)
  const other = hold('b1')
  end('a1')
  await first
  expect(started).toEqual(['a1', 'b1'])
  end('b1')
  await other
})

test('whoever hung up leaves the place in the queue to the next', async () => {
  const waiting = { perOrganization: 1, ms: 10_000, refusal: 'too many' }
  const turns = createTurns({ total: 1, perOrganization: 1, waiting })
  const running = Promise.withResolvers<void>()
  const first = turns.take('a', () => running.promise)
  const [hungUp, ran] = [new AbortController(), [] as string[]]
  const take = (name: string, signal?: AbortSignal) =>
    turns.take('a', async () => void ran.push(name), signal)
  const left = take('left', hungUp.signal)
  hungUp.abort()
  await expect(left).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const next = take('next', new AbortController().signal)
  running.resolve()
  await Promise.all([first, next])
  await expect(take('gone before', hungUp.signal)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(ran).toEqual(['next'])
})

test('a long line costs no more per place than a short one', async () => {
  const turns = createTurns({ total: 1, perOrganization: 1 })
  const running = Promise.withResolvers<void>()
  const first = turns.take('a', () => running.promise)
  const began = performance.now()
  const all = Array.from({ length: 20_000 }, () => turns.take('a', async () => undefined))
  running.resolve()
  await Promise.all([first, ...all])
  // Counted one by one it would take many seconds.
  expect(performance.now() - began).toBeLessThan(3_000)
})

test('of those with as many running, the one whose last turn is longest ago is next', async () => {
  const { started, hold, end } = holding(createTurns({ total: 1, perOrganization: 1 }))
  const all = ['a1', 'a2', 'a3', 'b1', 'c1'].map(hold)
  for (const [at, name] of ['a1', 'a2', 'b1', 'c1', 'a3'].entries()) {
    await expect.poll(() => started[at]).toBe(name)
    end(name)
  }
  await Promise.all(all)
})
