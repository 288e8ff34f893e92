import { expect, test } from 'vitest'
import { rightsOf, type Policy } from './rights.ts'

const policy: Policy = {
  rules: [],
  defaultScopes: ['data:read'],
  maxScopes: ['data:read', 'maintenance:read', 'maintenance:run'],
}
const engineers = { claim: 'groups', value: 'eng', scopes: ['maintenance:read' as const], sources: null }
const claimed = ['data:read', 'maintenance:read', 'maintenance:run']
const scopes = (given: Partial<Policy>, groups: string[] = []) =>
  rightsOf(
    { ...policy, ...given },
    { role: 'owner', resource: 'platform', claims: { groups }, claimed, requested: undefined },
  ).scopes

/** Threat: removing the last rule opens all that clients may have. */
test('whom no rule matches gets the defaults, and no more where there are none at all', () => {
  for (const rules of [[engineers], []]) {
    expect(scopes({ rules })).toEqual(['data:read'])
    expect(scopes({ rules, defaultScopes: [] })).toEqual([])
  }
  expect(scopes({ rules: [engineers] }, ['eng'])).toEqual(['maintenance:read'])
})

test('the maximum of the client holds for the defaults too', () => {
  expect(
    scopes({ defaultScopes: ['data:read', 'maintenance:read'], maxScopes: ['maintenance:read'] }),
  ).toEqual(['maintenance:read'])
})
