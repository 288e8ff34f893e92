import { expect, test } from 'vitest'
import { isSameOrigin } from './same-origin.ts'

const APP = new URL('http://localhost:4000')

test.each([
  [{ origin: 'http://localhost:4000' }, true],
  [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{}, false],
  [{ origin: 'null' }, false],
  [{ origin: 'null', 'sec-fetch-site': 'same-site' }, false],
  [{ origin: 'null', 'sec-fetch-site': 'none' }, false],
  [{ origin: 'http://localhost:4001', 'sec-fetch-site': 'same-origin' }, false],
  [{ origin: 'http://localhost:4000.evil.example' }, false],
  [{ origin: 'https://localhost:4000' }, false],
])('%j comes from our own pages: %s', (headers, isOurs) => {
  expect(isSameOrigin(new Headers(headers as Record<string, string>), APP)).toBe(isOurs)
})
