import { expect, test, vi } from 'vitest'
import { createSignal } from './turn-loop.ts'

/** Long enough that a wait which ends by it is seen to. */
const LONG_MS = 20_000

test('a wait ends when it is notified, when its time is over, or when the other thing has happened', async () => {
  const signal = createSignal()
  const notified = signal.wait(LONG_MS)
  signal.notify()
  await notified
  await signal.wait(0)
  const other = Promise.withResolvers<void>()
  const both = [signal.wait(LONG_MS, other.promise), createSignal().wait(LONG_MS, other.promise)]
  other.resolve()
  await Promise.all(both)
  // It has happened already.
  await signal.wait(LONG_MS, other.promise)
  await expect(signal.wait(LONG_MS, Promise.resolve())).resolves.toBeUndefined()
})

test('notified while nobody waits, it wakes whoever waits next', async () => {
  const signal = createSignal()
  signal.notify()
  await expect(signal.wait(LONG_MS)).resolves.toBeUndefined()
})

test('waiting again and again for what does not happen leaves nothing behind on it', async () => {
  const other = Promise.withResolvers<void>()
  const then = vi.spyOn(other.promise, 'then')
  const signal = createSignal()
  for (let n = 0; n < 20; n++) await signal.wait(0, other.promise)
  expect(then).toHaveBeenCalledTimes(1)
  const waiting = signal.wait(LONG_MS, other.promise)
  other.resolve()
  await waiting
})
