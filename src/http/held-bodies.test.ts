import { expect, test } from 'vitest'
import { heldBodies } from './held-bodies.ts'
import { readRawBody } from './read-body.ts'

const MiB = 1024 * 1024

test('an organization holds its share, others theirs, and what is released is there again', () => {
  const hold = heldBodies({ perOrganization: 10, all: 15 })
  const [first, second, other] = [hold('org_a'), hold('org_a'), hold('org_b')]
  first.add(6)
  expect(() => second.add(5)).toThrow('Too many large requests at once')
  second.add(4)
  other.add(5)
  expect(() => other.add(1)).toThrow('Too many large requests at once')
  first.release()
  other.add(1)
  second.add(5)
  for (const one of [second, other]) one.release()
  hold('org_c').add(10)
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
  const read = readRawBody(request, { type: 'application/gzip', maxBytes: 50 * MiB }, held.add)
  await expect(read).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 5 })
  expect(sent).toBeLessThan(10)
})
