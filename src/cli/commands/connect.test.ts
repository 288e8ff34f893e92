import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { CommandContext } from '../command-context.ts'
import { sanitizeLine } from '../terminal-text.ts'
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
  readonly organization?: string
  readonly apiUrl?: string
  readonly apps?: Set<string>
  readonly mayMakeTokens?: boolean
  readonly organizationIsOn?: boolean
  readonly failing?: string
  /** Gets the name of every operation that is called. */
  readonly asked?: string[]
}

/** A server that knows as much as the command asks of it. */
async function connecting(
  {
    organization = 'a',
    apiUrl = 'https://api.test',
    apps = new Set(),
    mayMakeTokens = true,
    organizationIsOn = true,
    failing,
    asked = [],
  }: World,
  { args = {}, options = {}, terminal = false, stdin = '' }: Partial<Given> = {},
) {
  const environment = fakeEnvironment({ home, cwd, terminal, stdin })
  const idOf = (alias: string) => `app_${organization}_${alias}`
  const said: string[] = []
  let [printed, isOn] = [undefined as unknown, false]
  const answers: Record<string, (input: Record<string, string>) => unknown> = {
    showApp: ({ alias }) => {
      if (!apps.has(alias!)) throw new ServiceError('NOT_FOUND')
      return { alias, id: idOf(alias!) }
    },
    createApp: ({ alias }) => {
      apps.add(alias!)
      return { alias, id: idOf(alias!) }
    },
    findMissingFiles: () => ({ missing: [] }),
    createRevision: () => ({ id: `rev_${'0'.repeat(25)}`, created: true, undoes: [] }),
    createAppToken: ({ scope }) => {
      if (!mayMakeTokens) throw new ServiceError('FORBIDDEN')
      return { token: `svca_${organization}_${scope}` }
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
    resolveContext: async () => ({ apiUrl: new URL(apiUrl) }),
    info: (line: string) => void said.push(sanitizeLine(line)),
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

const FILE = (organization = 'a', server = 'api.test') =>
  join(home, `.config/svc/apps/${server}-my-shop-2-app_${organization}_my-shop-2.env`)

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
      'SVC_API_URL=https://api.test\nSVC_APP_ID=app_a_my-shop-2\nSVC_REPORTING_TOKEN=svca_a_apps:report\nSVC_RUNNER_TOKEN=svca_a_apps:run\n',
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

  test('has tokens of their own for the app of the same alias in another organization, and on another port', async () => {
    await connecting({})
    await connecting({ organization: 'b' })
    await connecting({ apiUrl: 'https://api.test:8443' })
    expect(readFileSync(FILE('b'), 'utf8')).toContain('SVC_RUNNER_TOKEN=svca_b_apps:run')
    expect(readFileSync(FILE('a'), 'utf8')).toContain('SVC_RUNNER_TOKEN=svca_a_apps:run')
    expect(readFileSync(FILE('a', 'api.test_8443'), 'utf8')).toContain('SVC_API_URL=https://api.test:8443')
  })

  test.each([
    ['another app', '../of-a.env', 'SVC_APP_ID=app_a_my-shop-2\nSVC_RUNNER_TOKEN=svca_a\n'],
    ['nobody knows which app', '../old.env', 'SVC_RUNNER_TOKEN=svca_a\n'],
    ['another program', '../.env', 'DATABASE_URL=postgres://secret\nSVC_APP_ID=app_b_my-shop-2\n'],
    ['the folder that is pushed', 'tokens.env', undefined],
    ['the folder that is pushed, by a link', '../link/tokens.env', undefined],
  ])('refuses a file of %s before it makes anything', async (_whose, file, before) => {
    symlinkSync(cwd, join(home, 'link'))
    if (before !== undefined) writeFileSync(join(cwd, file), before)
    for (const apps of [new Set<string>(), new Set(['my-shop-2'])]) {
      const asked: string[] = []
      const call = connecting({ organization: 'b', apps, asked }, { options: { file } })
      await expect(call).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
      expect(asked).toEqual(['showApp'])
      expect(existsSync(join(cwd, file)) ? readFileSync(join(cwd, file), 'utf8') : undefined).toBe(before)
    }
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
    const long = await connecting({}, { args: { app: 'shop' }, options: { exec: 'make it\nmake that' } })
    expect(long.said).toContain("--exec 'make it\nmake that')")
    const { said } = await connecting({}, { args: { app: 'shop' }, options: { exec: "make 'it' 100%" } })
    expect(said).toContain('unset SVC_RUNNER_TOKEN SVC_REPORTING_TOKEN; exec svc apps runner shop')
    // systemd takes a dollar and a percent sign for its own.
    expect(said).toContain('$$SVC_RUNNER_TOKEN')
    expect(said).toContain('100%%')
    expect(said).toContain('kubectl create secret generic svc-shop')
  })
})
