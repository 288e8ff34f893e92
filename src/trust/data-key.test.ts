import { expect, test } from 'vitest'
import { dataKeys } from './data-key.ts'

const one = dataKeys('11'.repeat(32))
const other = dataKeys('22'.repeat(32))

test('what is sealed opens again, in its own place only', () => {
  const sealed = one.seal('org_a/ds_1', 'pässwörd')
  expect(one.open('org_a/ds_1', sealed)).toBe('pässwörd')
  expect(sealed).not.toContain('pässwörd')
  expect(() => one.open('org_b/ds_1', sealed)).toThrow('unable to authenticate data')
})

test('another DATA_KEY opens nothing, and neither does a changed text', () => {
  const sealed = one.seal('here', 'secret')
  expect(() => other.open('here', sealed)).toThrow('unable to authenticate data')
  const letter = sealed.at(20) === 'A' ? 'B' : 'A'
  expect(() => one.open('here', sealed.slice(0, 20) + letter + sealed.slice(21))).toThrow(
    'unable to authenticate data',
  )
})

test('the same text is never sealed to the same bytes, and every purpose has its own key', () => {
  expect(one.seal('here', 'secret')).not.toBe(one.seal('here', 'secret'))
  expect(one.keyFor('sealing')).not.toEqual(one.keyFor('activity-digest'))
})
