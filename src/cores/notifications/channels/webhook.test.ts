import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { signWebhook } from './webhook.ts'

type Vector = {
  name: string
  url: string
  timestamp: string
  body: string
  body_bytes: number
  key_sha256_hex: string
  'X-Svc-Signature(raw 32-byte key)': string
  'alt(hex-string key)': string
}

const vectors = readFileSync(
  new URL('../../../../test/vectors/webhook-signatures.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector)

const at = (timestamp: string) => new Date(Number(timestamp) * 1000)

/** As a receiver would write it, and nothing of ours in it. */
function accepts(url: string, body: Buffer, headers: { timestamp: string; signature: string }, nowS: number) {
  if (Math.abs(nowS - Number(headers.timestamp)) > 300) return false
  const key = createHash('sha256').update(url).digest()
  const mac = createHmac('sha256', key).update(`${headers.timestamp}.`).update(body).digest('hex')
  const [expected, given] = [Buffer.from(`v1=${mac}`), Buffer.from(headers.signature)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

describe.each(vectors)('$name', (vector) => {
  const { url, timestamp, body } = vector
  const headers = signWebhook({ url, body, id: 'msg_1', at: at(timestamp) })

  test('is signed as the vector says', () => {
    expect(Buffer.byteLength(body)).toBe(vector.body_bytes)
    expect(headers['X-Svc-Timestamp']).toBe(timestamp)
    expect(headers['X-Svc-Signature']).toBe(vector['X-Svc-Signature(raw 32-byte key)'])
  })

  test('is accepted by a receiver, and the signature by the hexadecimal text of the key is not', () => {
    const verify = (signature: string) =>
      accepts(url, Buffer.from(body), { timestamp, signature }, Number(timestamp))
    expect(verify(headers['X-Svc-Signature']!)).toBe(true)
    expect(verify(vector['alt(hex-string key)'])).toBe(false)
  })

  /** Standard Webhooks 1.0: secret `whsec_` + base64 of the key; signed are id, timestamp and body, joined by dots. */
  test('is signed for receivers of Standard Webhooks as well', () => {
    const secret = `whsec_${Buffer.from(vector.key_sha256_hex, 'hex').toString('base64')}`
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const mac = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64')
    expect(headers).toMatchObject({
      'webhook-id': 'msg_1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${mac}`,
    })
  })
})

test('there are the seven vectors', () => {
  expect(vectors).toHaveLength(7)
})

test('a receiver accepts every message as it was signed, and none that was changed, aged or meant for another', () => {
  const anything = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(
    fc.property(fc.webUrl(), anything, fc.nat(4_000_000_000), anything, (url, body, seconds, other) => {
      const headers = signWebhook({ url, body, id: 'msg_1', at: new Date(seconds * 1000 + 999) })
      const signed = {
        timestamp: headers['X-Svc-Timestamp']!,
        signature: headers['X-Svc-Signature']!,
      }
      const bytes = Buffer.from(body)
      expect(accepts(url, bytes, signed, seconds)).toBe(true)
      expect(accepts(`${url}/`, bytes, signed, seconds)).toBe(false)
      expect(accepts(url, Buffer.concat([bytes, Buffer.from(`.${other}`)]), signed, seconds)).toBe(false)
      expect(accepts(url, bytes, signed, seconds + 301)).toBe(false)
      expect(accepts(url, bytes, { ...signed, timestamp: String(seconds + 1) }, seconds)).toBe(false)
    }),
  )
})

test('the library of Standard Webhooks accepts it, with the key behind whsec_', () => {
  const url = 'https://hooks.example.com/svc/abc123'
  const body = '[{"id":"dlv_1"}]'
  const headers = signWebhook({ url, body, id: 'msg_1', at: new Date() })
  const receiver = new Webhook(`whsec_${createHash('sha256').update(url).digest('base64')}`)
  expect(receiver.verify(body, headers)).toEqual([{ id: 'dlv_1' }])
  expect(() => receiver.verify(`${body} `, headers)).toThrow('No matching signature found')
})

describe('a secret of its own', () => {
  const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`
  const [url, body, id] = ['https://hooks.example.com/a', '[]', 'msg_1']
  const now = new Date()
  const signed = (signing: Parameters<typeof signWebhook>[0]['signing']) =>
    signWebhook({ url, signing, body, id, at: now })
  const later = new Date(now.getTime() + 1_000).toISOString()
  const ofAddress = `whsec_${createHash('sha256').update(url).digest('base64')}`
  const verifies = (secret: string, headers: Record<string, string>) => {
    try {
      new Webhook(secret).verify(body, headers)
      return true
    } catch {
      return false
    }
  }

  test('signs for Standard Webhooks, beside the previous one while it is rotated, and not alone the first', () => {
    const rotating = signed({ secret: secretOf(2), previous: secretOf(1), previousUntil: later })
    expect([secretOf(1), secretOf(2), secretOf(3), ofAddress].map((one) => verifies(one, rotating))).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(rotating['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/)
    const over = signed({ secret: secretOf(2), previous: secretOf(1), previousUntil: now.toISOString() })
    expect([secretOf(1), secretOf(2)].map((one) => verifies(one, over))).toEqual([false, true])
    const first = signed({ secret: secretOf(1), previous: null, previousUntil: later })
    expect([ofAddress, secretOf(1)].map((one) => verifies(one, first))).toEqual([true, true])
  })

  test('leaves the contract’s own signature as it is', () => {
    const own = signed({ secret: secretOf(1), previous: null, previousUntil: later })
    expect(own['X-Svc-Signature']).toBe(signed(undefined)['X-Svc-Signature'])
  })
})
