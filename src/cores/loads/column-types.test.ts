import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHECKS, recognizeValues } from './column-types.ts'

describe('what the values of a column are taken for', () => {
  test.each([
    [['1', '-2.50', '0'], 'number'],
    [['1', '007'], 'text'],
    [['12,5', '1.234,50', '3'], 'number_comma'],
    [['1,234', '5,678'], undefined],
    [['1,234', '5,67'], 'number_comma'],
    [['1.234', '12.500', '2.000'], undefined],
    [['1.234', '7'], undefined],
    [['1.234', '0.500'], 'number'],
    [['1.234', '12.50'], 'number'],
    [['0.3333333333333333', '0.10000000149011612', '100000'], 'number'],
    [[`0,${'3'.repeat(30)}`], 'number_comma'],
    [[`0.${'3'.repeat(31)}`], 'text'],
    [['true', 'false', ''], 'boolean'],
    [['2026-03-01', '2024-02-29'], 'date'],
    [['2026-02-29'], 'text'],
    [['31.12.2026', '1.3.2026'], 'date_dmy'],
    [['31/12/2026', '01/03/2026'], 'date_dmy'],
    [['12/31/2026', '1/3/2026'], 'date_mdy'],
    [['01/02/2026', '03/04/2026'], undefined],
    [['01-02-2026', '03-04-2026'], undefined],
    [['01-02-2026', '03-25-2026'], 'date_mdy'],
    [['01-02-2026', '25-03-2026'], 'date_dmy'],
    [['02-29-2024', '12-31-2026'], 'date_mdy'],
    [['02-29-2026'], 'text'],
    [['01-02-2026 09:30'], undefined],
    [['2026-03-01 09:30', '2026-03-01T09:30:00.5Z', '2026-03-01'], 'timestamp'],
    [['31.12.2026 09:30:00'], 'timestamp_dmy'],
    [['09:30', '23:59:59'], 'time'],
    [['24:00'], 'text'],
    [['', ''], 'text'],
    [['n/a', '1'], 'text'],
  ])('%j: %s', (values, type) => {
    expect(recognizeValues('csv', values)).toBe(type)
  })

  test.each(['xlsx', 'parquet', 'json', 'ndjson'] as const)('a number of %s has a point', (format) => {
    expect(recognizeValues(format, ['1.234', '12.500', '2.000'])).toBe('number')
    expect(recognizeValues(format, ['1,234'])).toBeUndefined()
  })

  test('a day fits exactly when the calendar has it', () => {
    const date = new RegExp(CHECKS.date)
    const part = (digits: number) =>
      fc.nat({ max: 10 ** digits - 1 }).map((n) => String(n).padStart(digits, '0'))
    fc.assert(
      fc.property(part(4), fc.nat({ max: 13 }), fc.nat({ max: 32 }), (year, month, day) => {
        const text = [year, ...[month, day].map((n) => String(n).padStart(2, '0'))].join('-')
        const ms = Date.parse(`${text}T00:00:00Z`)
        const isDay = year !== '0000' && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
        expect([text, date.test(text)]).toEqual([text, isDay])
      }),
    )
  })
})
