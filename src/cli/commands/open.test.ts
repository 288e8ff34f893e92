import { expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import type { CommandContext } from '../command-context.ts'
import { commandFor } from '../browser.ts'
import { openConsole } from './open.ts'

type Given = {
  args?: Record<string, string>
  options?: Record<string, boolean>
  env?: Record<string, string>
  terminal?: boolean
  opens?: boolean
  format?: 'json'
  console_url?: string
}

const OVERVIEW = 'https://app.example.com/console'

async function open(given: Given) {
  const { args = {}, options = {}, env = {}, terminal = true, opens = true, format } = given
  const tried: string[] = []
  const environment = {
    ...fakeEnvironment({ env, terminal }),
    openInBrowser: async (url: string) => {
      tried.push(url)
      return opens
    },
  }
  const printed: unknown[] = []
  const ctx = {
    environment,
    settings: { format },
    print: (data: unknown) => printed.push(data),
    info: (line: string) => printed.push(line),
    callOperation: async () => ({ console_url: given.console_url ?? OVERVIEW }),
  } as unknown as CommandContext
  await openConsole(ctx, { args, options })
  return { tried, printed }
}

const DISPLAY = { DISPLAY: ':0' }

test('a page opens in the browser', async () => {
  expect(await open({ env: DISPLAY })).toEqual({ tried: [OVERVIEW], printed: [`Opened ${OVERVIEW}`] })
  const url = 'https://app.example.com/console/apps/a%2F..%2Fb'
  expect(await open({ env: DISPLAY, args: { page: 'apps', name: 'a/../b' }, format: 'json' })).toEqual({
    tried: [url],
    printed: [{ url, opened: true }],
  })
})

test.each([
  ['nobody sits at a terminal', { env: DISPLAY, terminal: false }],
  ['there is no display', {}],
  ['it is another machine', { env: { ...DISPLAY, SSH_CONNECTION: '1' } }],
  ['an agent calls', { env: { ...DISPLAY, CLAUDECODE: '1' } }],
  ['it is not wanted', { env: DISPLAY, options: { 'no-browser': true } }],
])('where %s, the URL is printed', async (_why, given) => {
  expect(await open(given)).toEqual({ tried: [], printed: [{ url: OVERVIEW, opened: false }] })
})

test('a browser that does not start, or that BROWSER names', async () => {
  const failed = await open({ env: DISPLAY, opens: false })
  expect(failed.printed).toEqual([{ url: OVERVIEW, opened: false }])
  expect((await open({ env: { BROWSER: 'lynx', SSH_CONNECTION: '1' } })).tried).toEqual([OVERVIEW])
})

test('a page without parts takes no name', async () => {
  await expect(open({ args: { page: 'audit', name: 'x' } })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: 'The page audit has no parts',
  })
})

test.each([
  'http://a&calc&/console',
  'http://a&calc&@app.example.com/console',
  'http://:a&calc&@app.example.com/console',
  'file:///etc/passwd',
  'smb://app.example.com/share',
  'vscode://app.example.com/console',
  'javascript:alert(1)',
  '/console',
  '',
])('%s as the address of the console opens nothing, and is not printed', async (console_url) => {
  for (const terminal of [true, false]) {
    await expect(open({ env: DISPLAY, console_url, terminal, opens: false })).rejects.toMatchObject({
      code: 'UNEXPECTED',
      message: 'The server answered with an address of the console that is not one',
    })
  }
})

test.each(['http://localhost:4000/console', 'http://[::1]:4000/console', 'http://127.0.0.1:4000/console'])(
  '%s is one',
  async (console_url) => {
    expect((await open({ env: DISPLAY, console_url })).tried).toEqual([console_url])
  },
)

test('no shell is between svc and the browser', () => {
  for (const platform of ['win32', 'darwin', 'linux']) {
    expect(commandFor(platform, {}).join(' ')).not.toMatch(/cmd|sh\b|powershell/)
  }
  expect(commandFor('win32', {})).toEqual(['rundll32', 'url.dll,FileProtocolHandler'])
})
