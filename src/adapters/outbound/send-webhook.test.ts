import { expect, test } from 'vitest'
import type { Message, Posted } from './guarded-post.ts'
import { sendWebhook } from './send-webhook.ts'

const MESSAGE = {
  url: 'https://hooks.example.com/x',
  headers: { 'X-Svc-Timestamp': '1' },
  body: '[]',
  keptFor: 'org_1 int_1',
}
const after = async (posted: Posted) => {
  const { requestHeaders: _headers, ...outcome } = await sendWebhook(async () => posted, 'svc/1')(MESSAGE)
  return outcome
}
const answered = (status: number, retryAfterSeconds?: number): Posted => ({
  kind: 'answered',
  status,
  retryAfterSeconds,
  text: 'whatever they say',
})

test('what was signed travels as it is, with our name beside it', async () => {
  const sent: Message[] = []
  await sendWebhook(async (message) => {
    sent.push(message)
    return answered(200)
  }, 'svc/1')(MESSAGE)
  expect(sent).toEqual([
    {
      url: MESSAGE.url,
      body: '[]',
      headers: { 'content-type': 'application/json', 'user-agent': 'svc/1', 'X-Svc-Timestamp': '1' },
      keptFor: 'org_1 int_1',
    },
  ])
})

test('what was sent along is told for people to read, without what is signed with the secret', async () => {
  const headers = {
    'X-Svc-Timestamp': '1',
    'X-Svc-Signature': 'v1=0123456789abcdef',
    'webhook-signature': 'v1,AbCdEf==',
  }
  for (const posted of [answered(500), { kind: 'unknown' } as const]) {
    const { requestHeaders } = await sendWebhook(async () => posted, 'svc/1')({ ...MESSAGE, headers })
    expect(requestHeaders).toEqual({
      'content-type': 'application/json',
      'user-agent': 'svc/1',
      'X-Svc-Timestamp': '1',
      'X-Svc-Signature': 'v1=…',
      'webhook-signature': 'v1,…',
    })
  }
})

test('of what arrived, and of what never left, no headers are kept', async () => {
  for (const posted of [answered(204), { kind: 'not_sent', because: 'not_reached' } as const]) {
    expect(await sendWebhook(async () => posted, 'svc/1')(MESSAGE)).not.toHaveProperty('requestHeaders')
  }
})

test.each([200, 201, 202, 204, 299])('%i is sent', async (status) => {
  expect(await after(answered(status))).toEqual({ kind: 'sent', httpStatus: status })
})

test.each([
  [410, 'endpoint_gone', false],
  [429, 'rate_limited', true],
  [500, 'server_error', true],
  [503, 'server_error', true],
  [400, 'refused', true],
  [401, 'refused', true],
  [404, 'refused', true],
  [303, 'refused', true],
  [307, 'refused', true],
])('%i is a refusal: %s, tried again: %s', async (status, reason, retry) => {
  expect(await after(answered(status, 30))).toEqual({
    kind: 'refused',
    reason,
    retry,
    httpStatus: status,
    retryAfterSeconds: 30,
  })
})

test.each([501, 502, 504, 505, 507, 520, 522, 524, 599, 101, 0])(
  '%i is not known: whatever answered may have passed it on',
  async (status) => {
    expect(await after(answered(status, 30))).toEqual({ kind: 'unknown', httpStatus: status })
  },
)

test('what never left is tried again; what may have arrived is not', async () => {
  expect(await after({ kind: 'not_sent', because: 'address' })).toEqual({
    kind: 'refused',
    reason: 'address_refused',
    retry: true,
  })
  expect(await after({ kind: 'not_sent', because: 'not_reached' })).toEqual({
    kind: 'refused',
    reason: 'not_reached',
    retry: true,
  })
  expect(await after({ kind: 'unknown' })).toEqual({ kind: 'unknown' })
})
