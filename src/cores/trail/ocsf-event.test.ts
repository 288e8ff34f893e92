import { expect, test } from 'vitest'
import { ocsfEvent } from './ocsf-event.ts'

test.each([
  ['app.service_account_bound', 1],
  ['app.service_account_unbound', 4],
  ['chat.linked', 1],
  ['chat.unlinked', 4],
  ['database.connection_shown', 2],
  ['data_source.switched_off', 3],
  ['access.ended_again', 4],
  ['proposal.approved', 99],
])('%s is activity %i of OCSF', (action, activity_id) => {
  const row = { kind: 'audit', id: 'aud_1', at: '2026-11-01T12:00:00.000Z', action } as const
  expect(ocsfEvent('org_1', { number: 1, row, epoch: 'one' })).toMatchObject({
    activity_id,
    type_uid: 600_300 + activity_id,
  })
})
