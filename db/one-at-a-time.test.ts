import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

test('work of two organizations does not overlap, and what fails keeps nobody waiting', async () => {
  const inTurn = oneAtATime()
  const order: string[] = []
  const work = (name: string, error?: Error) => async () => {
    order.push(`${name} begins`)
    await sleep(1)
    order.push(`${name} ends`)
    if (error) throw error
    return name
  }
  const broken = inTurn(work('a', new Error('broke')))
  const next = inTurn(work('b'))
  await expect(broken).rejects.toThrow('broke')
  expect(await next).toBe('b')
  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})
