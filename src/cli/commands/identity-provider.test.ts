import { expect, test } from 'vitest'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { formatOutput, type View } from '../format-output.ts'
import { declared } from '../declared.ts'
import { runOperation } from '../run-operation.ts'
import * as commands from './identity-provider.ts'

const provider = (word: string): Run => runOperation(declared(`agents provider ${word}`))

const PROVIDER = {
  id: 'idp_1',
  name: 'Corporate sign-in',
  issuer: 'https://idp.example.com',
  tenant: { claim: 'tid', value: 'one' },
  state: 'on',
  linking: 'admin',
  default_scopes: ['data:read'],
  assertion_seconds: 300,
  token_minutes: 15,
  is_required: true,
  live_grants: 2,
  last_used_at: null,
}
const CLIENT = {
  client_id: 'desk',
  kind: 'pre_registered',
  name: 'Desk',
  is_public: true,
  may_be_public: false,
  is_own: false,
  max_scopes: ['data:read'],
  resources: ['platform'],
  live_grants: 1,
  last_used_at: null,
}
const RULE = {
  position: 1,
  claim: null,
  value: null,
  scopes: [],
  sources: [{ id: 'ds_1', source_id: 'db_shop', name: 'Shop' }],
}
const LINK = {
  id: 'idl_1',
  subject: '00u1',
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada' },
  linked_by: 'admin',
  last_used_at: null,
}

async function run(
  command: Run,
  answer: unknown,
  given: { args?: object; options?: object; stdin?: string } = {},
) {
  const [calls, printed, said] = [[] as unknown[], [] as string[], [] as string[]]
  const stdin = {
    isTTY: false,
    async *[Symbol.asyncIterator]() {
      yield Buffer.from(given.stdin ?? '')
    },
  }
  const ctx = {
    environment: { cwd: '/', stdin },
    info: (line: string) => said.push(line),
    print: (data: unknown, view: View) => printed.push(formatOutput(data, view, 'table')),
    callOperation: async (name: string, input: unknown) => {
      calls.push([name, input])
      return answer
    },
  } as unknown as CommandContext
  const input = { args: { ...given.args }, options: { yes: true, ...given.options } } as Parameters<Run>[1]
  await command(ctx, input)
  return { calls, printed: printed.join(''), said: said.join('\n') }
}

test('the provider is shown with what to enter at it', async () => {
  const { printed, said } = await run(commands.showIdentityProvider, {
    is_enabled: false,
    audience: 'https://svc.example.com',
    resources: [{ resource: 'platform', url: 'https://svc.example.com/platform' }],
    identity_provider: PROVIDER,
    sign_in: { password: true, providers: [] },
  })
  expect(printed).toMatch(
    /state: +on[^]*tenant: +tid=one[^]*required: +yes[^]*audience: +https:\/\/svc\.example\.com\nplatform:/,
  )
  expect(said).toMatch(/turned identity providers off/)
})

test.each<[string, Run, { args?: object; options?: object; stdin?: string }, unknown[]]>([
  [
    'add',
    commands.createIdentityProvider,
    {
      args: { issuer: 'https://idp.example.com' },
      options: { 'tenant-claim': 'tid', 'tenant-value': 'one' },
    },
    [
      'createIdentityProvider',
      {
        issuer: 'https://idp.example.com',
        name: 'idp.example.com',
        tenant_claim: 'tid',
        tenant_value: 'one',
      },
    ],
  ],
  [
    'activate',
    provider('activate'),
    { args: { assertion: '-' }, stdin: 'a.b.c\n' },
    ['activateIdentityProvider', { assertion: 'a.b.c' }],
  ],
  ['pause', provider('pause'), {}, ['updateIdentityProvider', { state: 'paused' }]],
  ['resume', provider('resume'), {}, ['updateIdentityProvider', { state: 'on' }]],
  [
    'update',
    provider('update'),
    { options: { 'not-required': true, 'no-default-scopes': true, 'token-minutes': '5' } },
    ['updateIdentityProvider', { is_required: false, default_scopes: [], token_minutes: 5 }],
  ],
])('%s sends what it was told, and prints the provider', async (_name, command, given, call) => {
  const { calls, printed } = await run(command, PROVIDER, given)
  expect(calls).toEqual([call])
  expect(printed).toMatch(/id: +idp_1\nname: +Corporate sign-in/)
})

test('probe says in one line what is wrong with an assertion', async () => {
  const tried = {
    refusal: 'audience',
    checks: [
      { check: 'signature', result: 'passed' },
      { check: 'audience', result: 'failed' },
    ],
    subject: '00u1',
    client_id: 'desk',
    user: null,
  }
  const probed = {
    metadata: { problem: null, jwks_uri: 'https://idp.example.com/new', is_pinned: false },
    keys: [{ kid: 'k1', kty: 'ec', alg: null }],
    keys_problem: null,
    assertion: tried,
  }
  const { printed } = await run(commands.probeIdentityProvider, probed, {
    options: { assertion: '-' },
    stdin: 'a.b.c',
  })
  expect(printed).toMatch(/metadata: +keys are at https:\/\/idp\.example\.com\/new now\nkeys: +k1 \(ec\)\n/)
  expect(printed).toMatch(
    /refused: Its audience is not this server[^\n]*\(audience\)\nchecks: +1 of 2 passed/,
  )
})

test('a client is created with what it may have, and its secret is printed once with where to use it', async () => {
  const made = {
    ...CLIENT,
    secret: 'svcc_1',
    token_endpoint: 'https://svc.example.com/oauth/token',
    resource_urls: ['https://svc.example.com/platform'],
  }
  const { calls, printed, said } = await run(provider('create-client'), made, {
    args: { name: 'Desk' },
    options: { scope: ['data:read'] },
  })
  expect(calls).toEqual([
    ['createIdentityProviderClient', { name: 'Desk', max_scopes: ['data:read'], resources: ['platform'] }],
  ])
  expect(printed).toMatch(
    /client_id: +desk\nsecret: +svcc_1\ntoken_endpoint: +\S+\/oauth\/token\nresource: +\S+\/platform\n/,
  )
  expect(said).toMatch(/not shown again/)
})

test('clients: what may be had, and that a public one is refused still', async () => {
  const listed = await run(provider('clients'), { clients: [CLIENT] })
  expect(listed.printed).toMatch(/desk +pre_registered +Desk +data:read +platform +no +1/)
  const { calls, said } = await run(provider('allow'), CLIENT, {
    args: { client_id: 'desk' },
    options: { scope: ['data:read'] },
  })
  expect(calls).toEqual([
    [
      'allowIdentityProviderClient',
      { client_id: 'desk', max_scopes: ['data:read'], resources: ['platform'] },
    ],
  ])
  expect(said).toMatch(/refused until you allow it with --public/)
  const forbidden = await run(provider('forbid'), {}, { args: { client_id: 'desk' } })
  expect(forbidden.calls).toEqual([['forbidIdentityProviderClient', { client_id: 'desk' }]])
})

test('rules that were printed can be saved again', async () => {
  const { printed } = await run(provider('rules'), { rules: [RULE] })
  expect(printed).toMatch(/1 +everybody +- +refused +db_shop/)
  const stdin = JSON.stringify({ rules: [RULE] })
  const { calls } = await run(
    commands.setIdentityProviderRules,
    { rules: [RULE] },
    { args: { file: '-' }, stdin },
  )
  expect(calls).toEqual([
    ['setIdentityProviderRules', { rules: [{ claim: null, value: null, scopes: [], sources: ['ds_1'] }] }],
  ])
})

test('preview: claims of one name are one claim', async () => {
  const previewed = { role: 'viewer', refusal: 'rule', position: 1, scopes: [], sources: null }
  const { calls, printed } = await run(commands.previewIdentityProviderRules, previewed, {
    args: { user_id: 'usr_1', client_id: 'desk' },
    options: { claim: ['groups=eng', 'groups=a=b'] },
  })
  expect(calls).toEqual([
    [
      'previewIdentityProviderRules',
      { user_id: 'usr_1', client_id: 'desk', resource: undefined, claims: { groups: ['eng', 'a=b'] } },
    ],
  ])
  expect(printed).toMatch(/result: +refused: A rule refuses them \(rule\)\nrule: +1\n[^]*sources: +none\n/)
})

test('preview: a client that may not come in is under no rule, nor under the default', async () => {
  const previewed = {
    role: 'viewer',
    refusal: 'client_not_allowed',
    position: null,
    scopes: [],
    sources: null,
  }
  const { printed } = await run(commands.previewIdentityProviderRules, previewed, {
    args: { user_id: 'usr_1', client_id: 'desk' },
  })
  expect(printed).toMatch(/rule: +none\n[^]*scopes: +none\nsources: +none\n/)
})

test('links, refusals, and what ends', async () => {
  expect((await run(provider('links'), { links: [LINK] })).printed).toMatch(
    /idl_1 +00u1 +ada@example.com +admin/,
  )
  expect(
    (await run(provider('link'), LINK, { args: { subject: '00u1', user_id: 'usr_1' } })).printed,
  ).toMatch(/idl_1/)
  expect((await run(provider('unlink'), {}, { args: { link_id: 'idl_1' } })).said).toBe('Removed idl_1')
  const refusals = [
    { at: '2026-11-15T12:00:00.000Z', reason: 'expired', client_id: 'desk', subject: '00u1', key_id: 'k1' },
  ]
  expect((await run(provider('refusals'), { refusals })).printed).toMatch(
    /expired +It has expired +desk +00u1 +k1/,
  )
  expect((await run(provider('disconnect'), { ended: 2 })).said).toBe('Disconnected 2 agents')
  expect((await run(provider('remove'), {})).said).toBe('Removed the identity provider')
})
