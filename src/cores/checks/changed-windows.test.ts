import { expect, test } from 'vitest'
import { MAINTENANCE_WINDOWS_MAX } from '../../contracts/checks.ts'
import { changedWindows } from './changed-windows.ts'

const window = (day: number) => ({
  from: `2026-12-${String(day).padStart(2, '0')}T22:00:00Z`,
  until: `2026-12-${String(day).padStart(2, '0')}T23:00:00Z`,
})
const sameInBerlin = { from: '2026-12-01T23:00:00+01:00', until: '2026-12-02T00:00:00+01:00' }

test('one is added to those that are there, once', () => {
  expect(changedWindows([window(1)], { add_maintenance_window: window(2) })).toEqual([window(1), window(2)])
  expect(changedWindows([window(1)], { add_maintenance_window: sameInBerlin })).toEqual([window(1)])
})

test('one is removed, however it is written, and the others stay', () => {
  const both = [window(1), window(2)]
  expect(changedWindows(both, { remove_maintenance_window: sameInBerlin })).toEqual([window(2)])
  expect(changedWindows(both, { remove_maintenance_window: window(3) })).toEqual(both)
})

test('a list replaces them, and nothing leaves them as they are', () => {
  expect(changedWindows([window(1)], { maintenance_windows: [] })).toEqual([])
  expect(changedWindows([window(1)], {})).toEqual([window(1)])
})

test('there are no more than a check may have', () => {
  const full = Array.from({ length: MAINTENANCE_WINDOWS_MAX }, (_, day) => window(day + 1))
  expect(() => changedWindows(full, { add_maintenance_window: window(28) })).toThrow(
    expect.objectContaining({ code: 'INVALID_REQUEST' }),
  )
  const swapped = { remove_maintenance_window: window(1), add_maintenance_window: window(28) }
  expect(changedWindows(full, swapped)).toHaveLength(MAINTENANCE_WINDOWS_MAX)
})
