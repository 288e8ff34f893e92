/** What the shells are told to offer; bash itself is asked in test/cli/installed.test.ts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import type { CommandContext } from './command-context.ts'
import { complete } from './complete.ts'
import { run } from './run.ts'

const LISTS = {
  listAskableDataSources: { data_sources: [{ id: 'db_handbook', name: 'Staff\thand\u001bbook' }] },
  listDataSources: { data_sources: [{ source_id: 'db_handbook', name: 'Handbook' }] },
  listApps: {
    apps: [
      { alias: 'shop', name: 'Shop' },
      { alias: 'site', name: 'Site' },
    ],
  },
} as Record<string, object>

const contexts: (string | undefined)[] = []
const contextFor = (named: string | undefined) => {
  contexts.push(named)
  return {
    environment: fakeEnvironment({ env: { SVC_CONFIG_DIR: '/nowhere' } }),
    callOperation: async (name: string) => LISTS[name],
  } as unknown as CommandContext
}

/** The line as typed, up to the cursor. */
async function offered(line: string): Promise<string[]> {
  const words = line.split(' ')
  const told = await complete([...words.slice(0, -1), `=${words.at(-1)}`], contextFor)
  return told
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => text.split('\t')[0]!)
}

test.each([
  ['', ['status', 'datasource', 'api', 'open']],
  ['da', ['datasource']],
  ['db c', ['create', 'connect']],
  ['--json db ps', ['psql']],
  ['--context work db ps', ['psql']],
  ['help db at', ['attach']],
  ['apps tokens ', ['create', 'rotate', 'revoke', 'shop', 'site']],
  ['apps tokens s', ['shop', 'site']],
  ['apps tokens create si', ['site']],
  ['apps proposals show sh', ['shop']],
  ['datasource query ', ['db_handbook']],
  ['datasource query db_handbook ', []],
  ['agents narrow grt_x --source ', ['db_handbook']],
  ['agents narrow grt_x --scope data', ['data:read']],
  ['db connect ', ['rotate', 'handbook']],
  ['db create ', []],
  ['db psql handbook -- ', []],
  ['skills install svc-', ['svc-ai-gateway', 'svc-faq']],
  ['completion z', ['zsh']],
  ['status -o ', ['table', 'json', 'yaml']],
  ['status --output=j', ['--output=json']],
  ['status -o json --no', ['--no-color']],
  ['apps push shop ', []],
  ['apps diff shop rev_x --pa', ['--patch']],
  ['open app', ['apps']],
  ['--ver', ['--version']],
  ['frobnicate x', []],
])('svc %s', async (line, expected) => {
  const found = await offered(line)
  expect(line === '' ? expected.every((word) => found.includes(word)) : found).toEqual(
    line === '' ? true : expected,
  )
})

test('names come from the context of the line', async () => {
  await offered('apps tokens --context work s')
  expect(contexts.at(-1)).toBe('work')
  await offered('apps tokens --context=other s')
  expect(contexts.at(-1)).toBe('other')
  await offered('apps tokens s')
  expect(contexts.at(-1)).toBeUndefined()
})

test('a name of somebody else cannot break the line', async () => {
  expect(await complete(['datasource', 'query', '='], contextFor)).toBe(
    'db_handbook\tStaff hand\\u001bbook\n',
  )
})

test('a name that a shell would read as a command is not offered', async () => {
  const aliases = ['shop', 'shop;curl$IFS-d@x', 'shop $(id)', 'shop`id`', 'shop\n', 'shop|id', "shop'"]
  const hostile = () =>
    ({
      callOperation: async () => ({ apps: aliases.map((alias) => ({ alias, name: 'Shop' })) }),
    }) as unknown as CommandContext
  expect(await complete(['apps', 'push', '=s'], hostile)).toBe('shop\tShop\n')
})

test('without a server there are no names, and no error', async () => {
  const offline = () =>
    ({ callOperation: () => Promise.reject(new Error('no connection')) }) as unknown as CommandContext
  expect(await complete(['apps', 'tokens', '=s'], offline)).toBe('')
})

test('contexts are those of the configuration, and svc prints them for the shell', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-complete-'))
  try {
    const saved = { user: { id: 'usr_1', email: 'a@b.example' }, organization: null }
    const contexts = {
      work: { ...saved, api_url: 'https://api.example' },
      home: { ...saved, api_url: 'https://home.example' },
    }
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ version: 1, contexts }))
    const environment = fakeEnvironment({ env: { SVC_CONFIG_DIR: folder } })
    expect(await run(['__complete', 'context', 'use', '=w'], environment)).toBe(0)
    expect(environment.out()).toBe('work\thttps://api.example\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
