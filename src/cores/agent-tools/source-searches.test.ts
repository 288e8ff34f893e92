import { expect, test } from 'vitest'
import { SOURCE_SEARCHES } from '../../contracts/limits.ts'
import { createSourceSearches } from './source-searches.ts'

test('who waits is refused in time, or at once where too many wait, and whoever hung up takes no turn', async () => {
  const searches = createSourceSearches()
  const first = Promise.withResolvers<void>()
  const held = searches.take('org_1', () => first.promise)
  let searched = 0
  const search = async () => void searched++
  const hungUp = new AbortController()
  const leaving = searches.take('org_1', search, hungUp.signal)
  const waiting = Array.from({ length: SOURCE_SEARCHES.waiting - 1 }, () => searches.take('org_1', search))
  await expect(searches.take('org_1', search)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  // Another organization has a turn of its own.
  await searches.take('org_2', search)
  hungUp.abort()
  await expect(leaving).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  first.resolve()
  await Promise.all([held, ...waiting])
  expect(searched).toBe(SOURCE_SEARCHES.waiting)
  // Waiting and searching, before the agent runner gives up.
  expect(SOURCE_SEARCHES.waitMs + 5_000).toBeLessThan(28_000)
})
