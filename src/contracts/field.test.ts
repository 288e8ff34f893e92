import { expect, test } from 'vitest'
import * as z from 'zod'
import { field, fieldTexts } from './field.ts'

test('what is said of a field is known of it however it is wrapped', () => {
  const name = field(z.string().trim().max(20), { label: 'Name', example: 'Acme' })
  for (const wrapped of [
    name,
    name.optional(),
    name.nullable().default(null),
    name.transform((text) => text.length),
  ]) {
    expect(fieldTexts(wrapped)).toEqual({ label: 'Name', example: 'Acme' })
  }
})

test('one schema may stand for several fields, and what is said of one adds to what was said before', () => {
  const shared = field(z.string(), { label: 'Name', hint: 'Shown to everybody' })
  const app = field(shared, { label: 'App' })
  expect(fieldTexts(app)).toEqual({ label: 'App', hint: 'Shown to everybody' })
  expect(fieldTexts(shared)).toEqual({ label: 'Name', hint: 'Shown to everybody' })
  expect(fieldTexts(z.string())).toEqual({})
  expect(app.parse('x')).toBe('x')
})
