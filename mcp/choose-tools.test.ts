import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { reading, removing } from '../src/contracts/operation.ts'
import type { Role } from '../src/contracts/roles.ts'
import type { Scope } from '../src/contracts/scopes.ts'
import { chooseTools, readNarrowing, type Rights } from './choose-tools.ts'
import { tool } from './tool.ts'
import { TOOLS } from './tools.ts'

/** No tool needs more than the role viewer yet. */
const toolFor = (name: string, access: Role, scope: Scope, readOnly: boolean) =>
  tool({
    name,
    resource: 'platform',
    title: name,
    description: name,
    operations: [
      (readOnly ? reading : removing)({
        name,
        summary: name,
        service: 'api-gateway',
        input: z.object({}),
        output: z.object({}),
        access,
        scope,
        http: { method: 'get', path: `/api/${name}` },
      }),
    ],
    input: z.strictObject({}),
    run: async () => ({}),
  })

const TABLE = [
  toolFor('read', 'viewer', 'data:read', true),
  toolFor('run', 'admin', 'maintenance:run', false),
  ...TOOLS.filter(({ resource }) => resource === 'notifications'),
]
const choose = (who: Partial<Rights>, query = '') => {
  const whole: Rights = { role: 'owner', obtainableScopes: ['data:read', 'maintenance:run'], ...who }
  const { listed, callable, hidden } = chooseTools(
    TABLE,
    'platform',
    whole,
    readNarrowing(new URL(`https://mcp.example.com/platform${query}`)),
  )
  return { listed: listed.map(({ name }) => name), callable: callable.map(({ name }) => name), hidden }
}

test('a tool has the scopes, role and hints of its operations', () => {
  const [read, run] = TABLE
  expect(read).toMatchObject({ minimumRole: 'viewer', scopes: ['data:read'], isReadOnly: true })
  expect(run).toMatchObject({ minimumRole: 'admin', scopes: ['maintenance:run'], isReadOnly: false })
  expect(run?.listed.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true })
})

test('only tools of the endpoint are listed, in the order of the table', () => {
  expect(choose({})).toEqual({ listed: ['read', 'run'], callable: ['read', 'run'], hidden: [] })
})

test.each<[Role, string[]]>([
  ['member', ['read']],
  ['viewer', ['read']],
  ['developer', ['read']],
  ['admin', ['read', 'run']],
  ['owner', ['read', 'run']],
])('a %s has %j, and cannot call what is not listed', (role, names) => {
  const { listed, callable, hidden } = choose({ role })
  expect([listed, callable]).toEqual([names, names])
  if (names.length < 2) expect(hidden).toEqual([{ tool: 'run', why: 'needs the role admin' }])
})

describe('without its scope a tool', () => {
  test('is hidden from whoever cannot get it, and told the missing scope if it is called anyway', () => {
    expect(choose({ obtainableScopes: ['data:read'] })).toEqual({
      listed: ['read'],
      callable: ['read', 'run'],
      hidden: [{ tool: 'run', why: 'needs the scope maintenance:run' }],
    })
  })

  test('does not exist for a role that may never call it', () => {
    expect(choose({ role: 'viewer', obtainableScopes: [] }).callable).toEqual(['read'])
  })
})

test.each([
  ['?readonly=true', ['read']],
  ['?readonly=false', ['read', 'run']],
  ['?tools=run', ['run']],
  ['?tools=run,read', ['read', 'run']],
  ['?tools=%20read%20,', ['read']],
  ['?tools=nothing', []],
  ['?tools=read,nothing', ['read']],
  ['?tools=run&readonly=true', []],
  ['?tools=notifications_list', []],
  ['?source=db_x', ['read', 'run']],
  ['?unknown=1', ['read', 'run']],
])('%s leaves %j, for listing and for calling', (query, names) => {
  expect(choose({}, query)).toMatchObject({ listed: names, callable: names })
})

test('no URL shows more than the role and the scopes do', () => {
  for (const query of ['?tools=run', '?readonly=false', '?tools=run,read&readonly=false']) {
    expect(choose({ role: 'viewer' }, query).callable).not.toContain('run')
  }
})
