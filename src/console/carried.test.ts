import * as z from 'zod'
import { expect, test } from 'vitest'
import { pack, unpack } from './carried.ts'

const Shape = z.object({ kind: z.enum(['done', 'problem']), text: z.string() })

test('what was packed comes back as it was', () => {
  const flash = { kind: 'done' as const, text: 'Grüße, “Ada”' }
  expect(unpack(Shape, pack(flash))).toEqual(flash)
})

test.each([
  undefined,
  '',
  '.',
  'abc',
  pack('text'),
  pack({ kind: 'evil', text: 'x' }),
  pack({ kind: 'done' }),
])('%j is not what we packed', (text) => {
  expect(unpack(Shape, text)).toBeUndefined()
})
