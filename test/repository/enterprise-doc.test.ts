/** docs/enterprise.md has what the program has: every reason of a refusal, the claims of tenants, the limits. */
import { expect, test } from 'vitest'
import { REFUSAL_REASONS, TENANT_CLAIMS } from '../../src/contracts/identity-provider-states.ts'
import {
  IDENTITY_PROVIDER,
  MACHINE_AGENT_TOKEN_SECONDS,
  MACHINE_AGENTS_MAX,
  SERVER_CARDS_PER_ADDRESS,
} from '../../src/contracts/limits.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { readText } from './source-tree.ts'

const page = readText('docs/enterprise.md')
const flat = page.replaceAll(/\s+/g, ' ')

test('every reason of a refusal says what to do, in the order of the checks', () => {
  const table = page.split('| Reason | What to do |')[1]!.split('\n\n')[0]!
  const rows = [...table.matchAll(/^\| (`[^|]+`) \| ([^|]+) \|$/gm)]
  const reasons = rows.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, reason]) => reason))
  expect(reasons).toEqual(REFUSAL_REASONS)
})

test('the claims that tell tenants apart are named', () => {
  expect(TENANT_CLAIMS.filter((claim) => !page.includes(`\`${claim}\``))).toEqual([])
})

test.each([
  `At most ${IDENTITY_PROVIDER.rules} rules and ${IDENTITY_PROVIDER.clients} clients`,
  `access token, ${IDENTITY_PROVIDER.tokenMinutes.default} minutes`,
  `(${IDENTITY_PROVIDER.tokenMinutes.default}; ${IDENTITY_PROVIDER.tokenMinutes.min} to ${IDENTITY_PROVIDER.tokenMinutes.max})`,
  `A token lives for ${MACHINE_AGENT_TOKEN_SECONDS / 60} minutes`,
  `at most ${MACHINE_AGENTS_MAX}`,
  `${SERVER_CARDS_PER_ADDRESS.count} requests a minute`,
])('"%s" is what holds', (promise) => {
  expect(flat).toContain(promise)
})

test('every path of the API is there', () => {
  const known = OPERATIONS.map(({ http }) => new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
  const said = [...page.matchAll(/\/api\/v1[\w/{}-]*/g)].map(([path]) => path)
  expect(said.length).toBeGreaterThan(8)
  expect(said.filter((path) => !known.some((one) => one.test(path)))).toEqual([])
})
