import * as z from 'zod'
import { expect, test } from 'vitest'
import { encodeCookieValue, decodeCookieValue } from './cookie-value.ts'

const Shape = z.object({ kind: z.enum(['done', 'problem']), text: z.string() })

test('what was packed comes back as it was', () => {
  const flash = { kind: 'done' as const, text: 'Grüße, “Ada”' }
  expect(decodeCookieValue(Shape, encodeCookieValue(flash))).toEqual(flash)
})

test.each([
  undefined,
  '',
  '.',
  'abc',
  encodeCookieValue('text'),
  encodeCookieValue({ kind: 'evil', text: 'x' }),
  encodeCookieValue({ kind: 'done' }),
])('%j is not what we packed', (text) => {
  expect(decodeCookieValue(Shape, text)).toBeUndefined()
})
