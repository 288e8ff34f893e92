import { expect, test } from 'vitest'
import { dataKeys } from '../../../trust/data-key.ts'
import { receivedId, receivedPostId } from './received-id.ts'

const KEYS = dataKeys('a'.repeat(64))
const DELIVERY = { orgId: 'org_1', target: 'webhook:int_1', eventId: 'evt_1', id: 'dlv_1', replayOf: null }

test('a delivery that was made again after its row was lost has the id that its receiver knows', () => {
  const id = receivedId(KEYS, DELIVERY)
  expect(id).toMatch(/^ntf_[0-9a-f]{25}$/)
  expect(receivedId(KEYS, { ...DELIVERY, id: 'dlv_2' })).toBe(id)
})

test.each([
  { eventId: 'evt_2' },
  { target: 'webhook:int_2' },
  { orgId: 'org_2' },
  { replayOf: 'dlv_1', id: 'dlv_2' },
])('another event, target, organization or a replay has another: %o', (other) => {
  expect(receivedId(KEYS, { ...DELIVERY, ...other })).not.toBe(receivedId(KEYS, DELIVERY))
})

test('every replay is new, and the same on each of its attempts', () => {
  const replays = ['dlv_2', 'dlv_3'].map((id) => ({ ...DELIVERY, id, replayOf: 'dlv_1' }))
  const [first, second] = replays.map((one) => receivedId(KEYS, one))
  expect(first).not.toBe(second)
  expect(receivedId(KEYS, replays[0]!)).toBe(first)
})

test('another installation has other ids', () => {
  expect(receivedId(dataKeys('b'.repeat(64)), DELIVERY)).not.toBe(receivedId(KEYS, DELIVERY))
})

test('a POST has the same id only where it carries the same', () => {
  const id = receivedPostId(KEYS, 'webhook:int_1', ['ntf_1', 'ntf_2'])
  expect(id).toMatch(/^msg_[0-9a-f]{25}$/)
  expect(receivedPostId(KEYS, 'webhook:int_1', ['ntf_1', 'ntf_2'])).toBe(id)
  for (const other of [['ntf_1'], ['ntf_2', 'ntf_1'], ['ntf_1', 'ntf_2', 'ntf_3']])
    expect(receivedPostId(KEYS, 'webhook:int_1', other)).not.toBe(id)
})
