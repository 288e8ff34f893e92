import { expect, test } from 'vitest'
import { ServiceError } from '../contracts/errors.ts'
import { heldBodies } from './held-bodies.ts'
import { readRawBody } from './read-body.ts'

const MiB = 1024 * 1024

test('an organization holds its share, others theirs, and what is released is there again', () => {
  const hold = heldBodies({ perOrganization: 10, all: 20 })
  const [first, second, other] = [hold('org_a'), hold('org_a'), hold('org_b')]
  first.add(6)
  expect(() => second.add(5)).toThrow('Too many large requests at once')
  second.add(4)
  other.add(5)
  expect(() => other.add(1)).toThrow('Too many large requests at once')
  // Once more changes nothing.
  first.release()
  first.release()
  other.add(1)
  second.add(3)
  for (const one of [second, other]) one.release()
  hold('org_c').add(10)
})

test('whoever comes finds room, however many hold as much as they can', () => {
  const hold = heldBodies({ perOrganization: 100 * MiB, all: 400 * MiB })
  const fill = (orgId: string): number => {
    const held = hold(orgId)
    for (let bytes = 0; ; bytes += MiB / 4) {
      try {
        held.add(MiB / 4)
      } catch {
        return bytes / MiB
      }
    }
  }
  const held = Array.from({ length: 8 }, (_, i) => fill(`org_${i}`))
  expect(held).toEqual([100, 100, 100, 50, 25, 12.5, 6.25, 3])
  hold('org_new').add(MiB)
})

test('a body that does not fit is not read to its end', async () => {
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      sent += 1
      controller.enqueue(new Uint8Array(MiB))
      if (sent === 40) controller.close()
    },
  })
  const request = new Request('http://svc.internal/', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/gzip' },
    duplex: 'half',
  } as RequestInit)
  const held = heldBodies({ perOrganization: 4 * MiB, all: 100 * MiB })('org_a')
  const read = readRawBody(request, { type: 'application/gzip', maxBytes: 50 * MiB }, { onBytes: held.add })
  await expect(read).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 5 })
  expect(sent).toBeLessThan(10)
})

test('a body that comes too slowly is not waited for, and what it held is free', async () => {
  const hold = heldBodies({ perOrganization: 4 * MiB, all: 100 * MiB })
  const held = hold('org_a')
  const late = new AbortController()
  let cancelled = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(3 * MiB)),
    cancel: () => void (cancelled = true),
  })
  const request = new Request('http://svc.internal/', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/gzip' },
    duplex: 'half',
  } as RequestInit)
  const reading = { onBytes: held.add, deadline: () => late.signal }
  const read = readRawBody(request, { type: 'application/gzip', maxBytes: 50 * MiB }, reading)
  setTimeout(() => late.abort(new ServiceError('TIMEOUT')), 5)
  await expect(read).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(cancelled).toBe(true)
})
