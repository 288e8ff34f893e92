import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ConfigProblems, readConfig, SECRET_KEYS } from './config.ts'
import { readSecrets, removePartialFiles, writePrivateFile } from './secrets.ts'

const home = mkdtempSync(join(tmpdir(), 'svc-secrets-'))
afterAll(() => rmSync(home, { recursive: true }))

const newFolder = (): string => mkdtempSync(join(home, 'data-'))
const fileIn = (folder: string): string => join(folder, 'secrets.json')
const modeOf = (file: string): number => statSync(file).mode & 0o777

const read = (env: Record<string, string>) => readSecrets(readConfig(env))
const inFolder = (folder: string, env: Record<string, string> = {}) => read({ SVC_DATA_DIR: folder, ...env })

const hex = (digit: string): string => digit.repeat(64)
const GIVEN = Object.fromEntries(SECRET_KEYS.map((key, at) => [key, hex(String(at))]))

test('beside the embedded database four different secrets are made once, for nobody else to read', async () => {
  const folder = newFolder()
  const made = await inFolder(folder)
  expect(Object.keys(made).toSorted()).toEqual([...SECRET_KEYS].toSorted())
  for (const secret of Object.values(made)) expect(secret).toMatch(/^[0-9a-f]{64}$/)
  expect(new Set(Object.values(made)).size).toBe(4)
  expect(modeOf(fileIn(folder))).toBe(0o600)
  expect(await inFolder(folder)).toEqual(made)
})

test('two folders do not share a secret', async () => {
  const [one, other] = await Promise.all([inFolder(newFolder()), inFolder(newFolder())])
  expect(Object.values(one).filter((secret) => Object.values(other).includes(secret))).toEqual([])
})

test('a secret given by the operator counts before the kept one, which stays', async () => {
  const folder = newFolder()
  const made = await inFolder(folder)
  expect(await inFolder(folder, { DATA_KEY: hex('d') })).toEqual({ ...made, DATA_KEY: hex('d') })
  expect(await inFolder(folder)).toEqual(made)
})

const soundFile = JSON.stringify(GIVEN)
const DAMAGED: [what: string, text: string][] = [
  ['an empty file', ''],
  ['a file cut in half', soundFile.slice(0, 100)],
  ['something that is not ours', '[]'],
  ['three of four', JSON.stringify({ ...GIVEN, DATA_KEY: undefined })],
  ['one that is too short', JSON.stringify({ ...GIVEN, DATA_KEY: 'abc' })],
  ['one that is no text', JSON.stringify({ ...GIVEN, DATA_KEY: 7 })],
]
test.each(DAMAGED)(
  '%s is refused and left as it is: new secrets would end every token',
  async (_what, text) => {
    const folder = newFolder()
    writeFileSync(fileIn(folder), text)
    const refused = await inFolder(folder).catch((error: unknown) => error)
    expect(refused).toEqual(
      new Error(
        `${fileIn(folder)} is damaged. Restore it from a backup: without these secrets every token is invalid.`,
      ),
    )
    expect(readFileSync(fileIn(folder), 'utf8')).toBe(text)
  },
)

test('a file that cannot be read is not taken for a missing one', async () => {
  const folder = newFolder()
  // A folder in its place refuses everybody, root included.
  mkdirSync(fileIn(folder))
  await expect(inFolder(folder)).rejects.toThrow('EISDIR')
})

const POSTGRES = { DATABASE_URL: 'postgres://db.example.com/svc' }
const HOSTED = {
  AUTH_MODE: 'hosted',
  AUTH_SERVICE_URL: 'https://auth.vendor.example',
  AUTH_LOGIN_URL: 'https://app.vendor.example/auth/sign-in',
  HOSTED_ORGS: `org_${'0'.repeat(25)}`,
}

/** What each process must be given where several have to agree; everything missing is named, with who needs it. */
const NEEDED: [services: string, env: Record<string, string>, problems: string[]][] = [
  [
    'auth-service',
    POSTGRES,
    [
      'JWT_SECRET: required by auth-service',
      'JWT_SIGNING_KEY: required by auth-service',
      'ACTOR_ASSERTION_SECRET: required by auth-service',
    ],
  ],
  [
    'auth-service',
    { ...POSTGRES, JWT_SECRET: hex('a'), JWT_SIGNING_KEY: hex('b') },
    ['ACTOR_ASSERTION_SECRET: required by auth-service'],
  ],
  [
    'auth-service,console',
    { ...POSTGRES, ACTOR_ASSERTION_SECRET: hex('a') },
    ['JWT_SECRET: required by auth-service', 'JWT_SIGNING_KEY: required by auth-service'],
  ],
  [
    'api-gateway',
    { ...POSTGRES, ...HOSTED },
    ['ACTOR_ASSERTION_SECRET: required by api-gateway', 'DATA_KEY: required by api-gateway'],
  ],
  ['api-gateway,console', POSTGRES, ['DATA_KEY: required by api-gateway']],
  ['api-gateway,console', { ...POSTGRES, DATA_KEY: hex('a') }, []],
  ['deploy-api', POSTGRES, ['DATA_KEY: required by deploy-api']],
  [
    'deploy-api',
    { ...POSTGRES, ...HOSTED },
    ['ACTOR_ASSERTION_SECRET: required by deploy-api', 'DATA_KEY: required by deploy-api'],
  ],
  ['console', {}, []],
  ['agent-runner', { AGENT_RUNNER_SECRET: hex('a'), DEPLOY_URL: 'http://deploy.internal:4000' }, []],
  ['worker', POSTGRES, ['DATA_KEY: required by worker']],
  ['api-gateway,worker', { ...POSTGRES, DATA_KEY: hex('a') }, []],
]
test.each(NEEDED)('%s with %j lacks %j', async (SVC_SERVICES, env, problems) => {
  const folder = newFolder()
  const refused = await read({ SVC_SERVICES, SVC_DATA_DIR: folder, ...env }).then(
    () => [],
    (error: unknown) => (error instanceof ConfigProblems ? error.problems : [error]),
  )
  expect(refused).toEqual(problems)
  expect(readdirSync(folder)).toEqual([])
})

test('over Postgres nothing is made up and nothing is written', async () => {
  const folder = newFolder()
  expect(await read({ SVC_DATA_DIR: folder, ...POSTGRES, ...GIVEN })).toEqual(GIVEN)
  expect(readdirSync(folder)).toEqual([])
})

test('a private file is whole, private also where a wider one was, and leaves nothing beside it', async () => {
  const folder = newFolder()
  const file = join(folder, 'words.txt')
  writeFileSync(file, 'old', { mode: 0o644 })
  const left = `${file}.partial-${process.pid}`
  writeFileSync(left, 'of an earlier process with our number, which was killed')
  chmodSync(left, 0o644)
  await writePrivateFile(file, 'new')
  expect(readFileSync(file, 'utf8')).toBe('new')
  expect(modeOf(file)).toBe(0o600)
  expect(existsSync(left)).toBe(false)
})

test('what a killed start has left half written is removed, and nothing else', async () => {
  const folder = newFolder()
  const kept = ['first-run.txt', 'lock', 'notes.partial-1', 'secrets.json']
  for (const name of [
    ...kept,
    'secrets.json.partial-7',
    'first-run.json.partial-12',
    'first-run.txt.partial-3',
  ])
    writeFileSync(join(folder, name), '')
  await removePartialFiles(folder)
  expect(readdirSync(folder).toSorted()).toEqual(kept)
})
