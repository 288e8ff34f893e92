import { expect, test } from 'vitest'
import { foldGroups } from './fold-groups.ts'

const group = (template: string, count: number, hour: number) => ({
  id: `lgr_${template}`,
  template,
  level: 'error' as const,
  count,
  today: 0,
  first_at: `2026-03-01T0${hour}:00:00Z`,
  last_at: `2026-03-01T0${hour}:30:00Z`,
})

test('groups that differ in names with numbers are one, with the lines of the newest', () => {
  const groups = [
    group('mail to s1 rejected', 2, 1),
    group('mail to s2 rejected', 3, 5),
    group('mail to s3 rejected', 1, 2),
  ]
  expect(foldGroups([...groups, group('other', 1, 1)])).toEqual([
    {
      ...groups[1],
      template: 'mail to <n> rejected',
      count: 6,
      first_at: '2026-03-01T01:00:00Z',
    },
    group('other', 1, 1),
  ])
})

test('two alike may be two things', () => {
  const groups = [group('no utf8', 1, 1), group('no utf16', 1, 2)]
  expect(foldGroups(groups)).toEqual(groups)
})
