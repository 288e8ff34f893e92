import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import { connectApp } from './connect.ts'

let [home, cwd] = ['', '']
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-connect-'))
  cwd = join(home, 'My Shop 2')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'main.js'), 'let total = 1\n')
})
afterEach(() => rmSync(home, { recursive: true }))

type World = {
  readonly apps?: Set<string>
  readonly mayMakeTokens?: boolean
  readonly organizationIsOn?: boolean
  readonly failing?: string
}

/** A server that knows as much as the command asks of it. */
async function connecting(
  { apps = new Set(), mayMakeTokens = true, organizationIsOn = true, failing }: World,
  { args = {}, options = {}, terminal = false, stdin = '' }: Partial<Given> = {},
) {
  const environment = fakeEnvironment({ home, cwd, terminal, stdin })
  const asked: string[] = []
  const said: string[] = []
  let [printed, isOn] = [undefined as unknown, false]
  const answers: Record<string, (input: Record<string, string>) => unknown> = {
    showApp: ({ alias }) => {
      if (!apps.has(alias!)) throw new ServiceError('NOT_FOUND')
      return { alias }
    },
    createApp: ({ alias }) => apps.add(alias!),
    findMissingFiles: () => ({ missing: [] }),
    createRevision: () => ({ id: `rev_${'0'.repeat(25)}`, created: true, undoes: [] }),
    createAppToken: ({ scope }) => {
      if (!mayMakeTokens) throw new ServiceError('FORBIDDEN')
      return { token: `svca_${scope}` }
    },
    showAppMaintenance: () => {
      if (!organizationIsOn) throw new ServiceError('MAINTENANCE_AGENT_NOT_FOUND')
      return { settings: { enabled: isOn } }
    },
    updateAppMaintenance: () => ({ settings: { enabled: (isOn = true) } }),
    summarizeLogs: () => ({ buckets: [{ counts: { info: 2, error: 1 } }] }),
    listDeployments: () => ({ deployments: [] }),
  }
  const ctx = {
    environment,
    settings: { interactive: terminal, color: false },
    resolveContext: async () => ({ apiUrl: new URL('https://api.test') }),
    info: (line: string) => void said.push(line),
    print: (data: unknown) => void (printed = data),
    callOperation: async (name: string, input: Record<string, string>) => {
      asked.push(name)
      if (name === failing) throw new ServiceError('CONFLICT')
      return answers[name]!(input)
    },
  } as unknown as CommandContext
  await connectApp(ctx, { args, options })
  return { asked, said: said.join('\n'), printed }
}
type Given = {
  args: Record<string, string>
  options: Record<string, string | boolean>
  terminal: boolean
  stdin: string
}

const FILE = () => join(home, '.config/svc/apps/api.test-my-shop-2.env')

describe('svc apps connect', () => {
  test('creates the app by the name of the folder, pushes, and keeps both tokens for its owner alone', async () => {
    const { asked, said, printed } = await connecting({}, { options: { maintenance: true } })
    expect(asked.filter((name) => name.startsWith('create'))).toEqual([
      'createApp',
      'createRevision',
      'createAppToken',
      'createAppToken',
    ])
    expect(readFileSync(FILE(), 'utf8')).toBe(
      'SVC_API_URL=https://api.test\nSVC_REPORTING_TOKEN=svca_apps:report\nSVC_RUNNER_TOKEN=svca_apps:run\n',
    )
    expect(statSync(FILE()).mode & 0o777).toBe(0o600)
    expect(said).not.toContain('svca_')
    expect(printed).toMatchObject({ app: 'my-shop-2', created: true, maintenance: true, log_lines: 3 })
  })

  test('does nothing twice', async () => {
    const apps = new Set<string>()
    await connecting({ apps })
    const { asked, printed } = await connecting({ apps })
    expect(asked).not.toContain('createApp')
    expect(asked).not.toContain('createAppToken')
    expect(printed).toMatchObject({ created: false, tokens: FILE() })
  })

  test('that fails afterwards keeps the tokens that it made', async () => {
    const apps = new Set<string>()
    await expect(connecting({ apps, failing: 'summarizeLogs' })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect((await connecting({ apps })).asked).not.toContain('createAppToken')
  })

  test('says what a login may not do, and connects the rest', async () => {
    const { said, printed } = await connecting({ mayMakeTokens: false, organizationIsOn: false })
    expect(said).toContain('/console/apps/my-shop-2')
    expect(said).toContain('svc apps maintenance settings --enable')
    expect(said).not.toContain('EnvironmentFile')
    expect(printed).toMatchObject({ tokens: null, maintenance: false })
  })

  test.each([
    ['y\n', true],
    ['\n', false],
  ])('asks at a terminal whether to turn maintenance on: %j', async (stdin, maintenance) => {
    const { printed } = await connecting({}, { terminal: true, stdin })
    expect(printed).toMatchObject({ maintenance })
  })

  test('prints lines that hand neither the program nor what deploys a token', async () => {
    const { said } = await connecting({}, { args: { app: 'shop' }, options: { exec: "make 'it' 100%" } })
    expect(said).toContain('unset SVC_RUNNER_TOKEN SVC_REPORTING_TOKEN; exec svc apps runner shop')
    // systemd takes a dollar and a percent sign for its own.
    expect(said).toContain('$$SVC_RUNNER_TOKEN')
    expect(said).toContain('100%%')
    expect(said).toContain('kubectl create secret generic svc-shop')
  })
})
