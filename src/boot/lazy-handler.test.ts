import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { lazyHandler } from './lazy-handler.ts'

const [incoming, outgoing] = [{} as IncomingMessage, {} as ServerResponse]

test('it is loaded once, by the first request, and again only after a load that failed', async () => {
  let loads = 0
  let handled = 0
  const { handle } = lazyHandler(/^/, async () => {
    loads += 1
    if (loads === 1) throw new Error('no such file')
    return { handle: async () => void (handled += 1) }
  })
  expect(loads).toBe(0)
  await expect(handle(incoming, outgoing)).rejects.toThrow('no such file')
  await Promise.all([handle(incoming, outgoing), handle(incoming, outgoing)])
  await handle(incoming, outgoing)
  expect({ loads, handled }).toEqual({ loads: 2, handled: 3 })
})
