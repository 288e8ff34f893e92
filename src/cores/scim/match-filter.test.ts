import { expect, test } from 'vitest'
import { matchesFilter } from './match-filter.ts'
import { parseFilter } from './parse-filter.ts'

const WORK = { type: 'Work', value: 'ada@corp.test', primary: true, display: null }

test.each([
  ['type eq "work"', true],
  ['type ne "work"', false],
  ['type ne "home"', true],
  ['value co "CORP"', true],
  ['value sw "ada"', true],
  ['value sw "corp"', false],
  ['value ew ".test"', true],
  ['value ew "ada"', false],
  ['type gt "work"', false],
  ['type ge "work"', true],
  ['type lt "works"', true],
  ['type le "wor"', false],
  ['primary eq true', true],
  ['primary gt true', false],
  ['primary pr', true],
  ['display pr', false],
  ['constructor pr', false],
  ['type eq "work" and primary eq false', false],
  ['type eq "work" and primary eq true', true],
  ['type eq "home" or primary eq true', true],
  ['type eq "home" or primary eq false', false],
  ['not (type eq "home")', true],
])('a value of an attribute is picked by %s: %s', (filter, expected) => {
  expect(matchesFilter(parseFilter(filter), WORK)).toBe(expected)
})
