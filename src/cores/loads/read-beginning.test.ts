import { expect, test } from 'vitest'
import type { LoadFormat } from '../../contracts/load-formats.ts'
import { createTurns } from '../work/turns.ts'
import { inTurn } from './read-beginning.ts'

const tablePreviews = createTurns({ keys: ['organization', 'person'], running: { all: 1 } })
const asking = (userId: string, signal?: AbortSignal) => ({ tablePreviews, principal: { signal }, userId })
const load = (orgId: string, format: LoadFormat = 'xlsx') => ({ orgId, format })
/** As a database that sleeps: until it is canceled. */
const sleeping = (signal: AbortSignal | undefined) =>
  new Promise<never>((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error))
  })

test('a database that sleeps holds a turn for as long as a read may take, and then another organization has it', async () => {
  const slow = inTurn(asking('ann'), load('one'), sleeping, 20)
  const next = inTurn(asking('bo'), load('two'), () => Promise.resolve('read'))
  await expect(slow).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(await next).toBe('read')
})

test('whoever hangs up waits no longer, and reads no longer', async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const reading = inTurn(asking('ann', first.signal), load('one'), sleeping)
  const waiting = inTurn(asking('bo', second.signal), load('two'), sleeping)
  second.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  first.abort()
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
  expect(tablePreviews.size()).toBe(0)
})

test('a file that is not read as a whole waits for no turn', async () => {
  const end = new AbortController()
  const reading = inTurn(asking('ann', end.signal), load('one'), sleeping)
  expect(await inTurn(asking('ann'), load('one', 'csv'), () => Promise.resolve('read'))).toBe('read')
  end.abort()
  await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
})
