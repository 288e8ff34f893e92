/** How values of answers are written into cells. */
import { expect, test } from 'vitest'
import { cellOf } from './cells.ts'

test.each<[string, object, unknown]>([
  ['of:sources', { of: null }, 'all'],
  ['of:sources', { of: [] }, 'none'],
  ['of:sources', { of: [{ source_id: 'db_a' }, { source_id: 'db_b' }] }, 'db_a db_b'],
  ['of:types', { of: { team: 'text', year: 'number' } }, 'team (text), year (number)'],
  ['of:scalar', { of: { deep: 1 } }, null],
  ['of:scalar', { of: 0.5 }, 0.5],
  ['of:health', { of: { checked_at: null, problems: [] } }, 'not checked'],
  ['of:health', { of: { checked_at: '2026-11-01', problems: [] } }, 'ok'],
  ['of:health', { of: { checked_at: null, problems: [{}, {}] } }, '2 problems'],
  ['of:counts', { of: { grant: 2, api_token: 1, machine: 0 } }, '2 grant, 1 api token'],
  ['of:counts', { of: { grant: 0 } }, 'nothing'],
  [
    'of:credentials',
    { of: [{ id: 'crd_1', kind: 'secret', starts_with: 'svc_a' }] },
    'crd_1 (secret, svc_a…)',
  ],
  ['of:deployment', { of: 'running', cancel_requested: true }, 'running, to be cancelled'],
  ['of:deployment', { of: 'running', cancel_requested: false }, 'running'],
  ['of:deployment', { of: 'succeeded', cancel_requested: true }, 'succeeded'],
  ['of:phase', { of: 'running', phase: 'embedding' }, 'running, embedding'],
  ['of:phase', { of: 'succeeded', phase: null }, 'succeeded'],
  ['of:frequency', { of: 'daily', categories: [] }, null],
  ['of:frequency', { of: 'daily', categories: ['checks'] }, 'daily'],
  // The newest comes first in the answer, and stands last in the cell.
  ['of:runs', { of: [{ state: 'failed' }, { state: 'missed' }, { state: 'succeeded' }] }, '.MF'],
  ['of:results', { of: ['pass', 'fail', 'error', 'indeterminate'] }, '.FE?'],
  ['of:granted', { of: { approve: true, deny: false, retry: true } }, 'approve, retry'],
  ['of:pause', { of: 'disabled' }, 'Turned off'],
  ['of:reason', { of: 'timed_out' }, 'No answer in time'],
])('%s of %j is %j', (cell, row, wanted) => {
  expect(cellOf(cell, row as Record<string, unknown>)).toBe(wanted)
})
