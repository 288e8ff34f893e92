import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { VERIFIER } from './webhook-signature.ts'

/** People copy it: it must do what it says. */
describe('the function that checks a signature', async () => {
  const { isFromSvc } = (await import(
    /* @vite-ignore */ `data:text/javascript;base64,${Buffer.from(VERIFIER).toString('base64')}`
  )) as { isFromSvc: (url: string, headers: Record<string, string>, body: string, now: number) => boolean }
  const url = 'https://hooks.example.com/svc/abc123'
  const headers = {
    'x-svc-timestamp': '1731628800',
    'x-svc-signature': 'v1=4fbc65c954ce3bc2095a0946d37f75478c2324302658601d8b3b1b56715dd84b',
  }
  const now = 1_731_628_800_000

  type Vector = { name: string; url: string; timestamp: string; body: string } & Record<string, string>
  const vectors = readFileSync(
    new URL('../../../../test/vectors/webhook-signatures.jsonl', import.meta.url),
    'utf8',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Vector)

  test.each(vectors.map((vector) => [vector.name, vector] as const))(
    'takes what we sign: %s',
    (_name, one) => {
      const signed = (signature: string | undefined) =>
        isFromSvc(
          one.url,
          { 'x-svc-timestamp': one.timestamp, 'x-svc-signature': signature ?? '' },
          one.body,
          Number(one.timestamp) * 1_000 + 300_000,
        )
      expect(signed(one['X-Svc-Signature(raw 32-byte key)'])).toBe(true)
      expect(signed(one['alt(hex-string key)'])).toBe(false)
    },
  )

  test.each([
    ['another address', `${url}/`, headers, '[]', now],
    ['another body', url, headers, '[ ]', now],
    ['a recording', url, headers, '[]', now + 301_000],
    ['one from the future', url, headers, '[]', now - 301_000],
    ['another time', url, { ...headers, 'x-svc-timestamp': '1731628801' }, '[]', now],
    ['no time', url, { ...headers, 'x-svc-timestamp': 'NaN' }, '[]', now],
    ['no headers', url, {}, '[]', now],
    ['characters that are not ASCII', url, { ...headers, 'x-svc-signature': 'ü'.repeat(67) }, '[]', now],
  ])('refuses %s', (_what, address, given, body, at) => {
    expect(isFromSvc(address, given, body, at)).toBe(false)
  })
})
