import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { operation } from '../src/contracts/operation.ts'
import type { Role } from '../src/contracts/roles.ts'
import type { Scope } from '../src/contracts/scopes.ts'
import { chooseTools, type Chooser } from './choose-tools.ts'
import { readNarrowing } from './narrowing.ts'
import { tool } from './tool.ts'
import { TOOLS } from './tools.ts'

/** Tools for more than viewers come later; their rules are here already. */
const made = (name: string, who: Role, scope: Scope, readOnly: boolean) =>
  tool({
    name,
    resource: 'platform',
    title: name,
    description: name,
    operations: [
      operation({
        name,
        summary: name,
        service: 'api-gateway',
        input: z.object({}),
        output: z.object({}),
        who,
        scope,
        readOnly,
        destructive: !readOnly,
        idempotent: true,
        errors: [],
        http: { method: 'get', path: `/api/${name}` },
      }),
    ],
    input: z.strictObject({}),
    run: async () => ({}),
  })

const TABLE = [
  made('read', 'viewer', 'data:read', true),
  made('run', 'admin', 'maintenance:run', false),
  ...TOOLS.filter(({ resource }) => resource === 'notifications'),
]
const choose = (who: Partial<Chooser>, query = '') => {
  const whole: Chooser = { role: 'owner', scopes: ['data:read', 'maintenance:run'], canStepUp: true, ...who }
  const { listed, callable, hidden } = chooseTools(
    TABLE,
    'platform',
    whole,
    readNarrowing(new URL(`https://mcp.example.com/platform${query}`)),
  )
  return { listed: listed.map(({ name }) => name), callable: callable.map(({ name }) => name), hidden }
}

test('what an operation says of itself is what its tool says', () => {
  const [read, run] = TABLE
  expect(read).toMatchObject({ minimumRole: 'viewer', scopes: ['data:read'], isReadOnly: true })
  expect(run).toMatchObject({ minimumRole: 'admin', scopes: ['maintenance:run'], isReadOnly: false })
  expect(run?.listed.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true })
})

test('only tools of the endpoint are chosen, in the order of the table', () => {
  expect(choose({})).toEqual({ listed: ['read', 'run'], callable: ['read', 'run'], hidden: [] })
})

test.each<[Role, string[]]>([
  ['member', ['read']],
  ['viewer', ['read']],
  ['developer', ['read']],
  ['admin', ['read', 'run']],
  ['owner', ['read', 'run']],
])('a %s finds %j, and cannot call what is not listed', (role, names) => {
  const { listed, callable, hidden } = choose({ role })
  expect([listed, callable]).toEqual([names, names])
  if (names.length < 2) expect(hidden).toEqual([{ tool: 'run', why: 'needs the role admin' }])
})

describe('without its scope a tool', () => {
  test('is shown to an agent with a grant, so that its person can be asked', () => {
    expect(choose({ scopes: ['data:read'] }).listed).toEqual(['read', 'run'])
  })

  test('is hidden from an API token, which hears which scope is missing when it calls it all the same', () => {
    expect(choose({ scopes: ['data:read'], canStepUp: false })).toEqual({
      listed: ['read'],
      callable: ['read', 'run'],
      hidden: [{ tool: 'run', why: 'needs the scope maintenance:run' }],
    })
  })

  test('is as unknown as any other to a role that may never call it', () => {
    expect(choose({ role: 'viewer', scopes: [], canStepUp: false }).callable).toEqual(['read'])
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

test('no address shows more than the role and the scopes do', () => {
  for (const query of ['?tools=run', '?readonly=false', '?tools=run,read&readonly=false']) {
    expect(choose({ role: 'viewer' }, query).callable).not.toContain('run')
  }
})
