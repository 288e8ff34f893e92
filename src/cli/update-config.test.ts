/** The files of the client: what is in them stays in them, whatever happens at the same time. */
import { execFileSync } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import { ServiceError } from '../contracts/errors.ts'
import { configPaths, isReadableByOthers, readConfig, type ConfigPaths } from './config-files.ts'
import { updateConfig } from './update-config.ts'

let home: string
let files: ConfigPaths
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-config-'))
  files = configPaths(fakeEnvironment({ home }))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const context = (id: string) => ({
  api_url: 'http://localhost:4000',
  user: { id, email: 'a@b.c' },
  organization: null,
})
const add = (name: string) =>
  updateConfig(files, ({ config, credentials }) => {
    config.contexts[name] = context(name)
    credentials.tokens[name] = `svc_${name}`
  })
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

test('the folder is the one that is named, then the XDG one, then ~/.config/svc', () => {
  const folder = (env: Record<string, string>) => configPaths(fakeEnvironment({ env, home: '/h' })).folder
  expect(folder({})).toBe('/h/.config/svc')
  expect(folder({ XDG_CONFIG_HOME: '/x' })).toBe('/x/svc')
  expect(folder({ XDG_CONFIG_HOME: '/x', SVC_CONFIG_DIR: '/s' })).toBe('/s')
  expect(folder({ XDG_CONFIG_HOME: '', SVC_CONFIG_DIR: '' })).toBe('/h/.config/svc')
})

test('tokens are readable for their owner alone, and nothing else stays behind', async () => {
  await add('one')
  expect([modeOf(files.folder), modeOf(files.credentials), modeOf(files.config)]).toEqual([
    '700',
    '600',
    '600',
  ])
  expect(readdirSync(files.folder).toSorted()).toEqual(['config.json', 'credentials.json'])
  expect(readFileSync(files.config, 'utf8')).not.toContain('svc_one')
  expect(isReadableByOthers(files, fakeEnvironment())).toBe(false)
})

test('of ten changes at once none is lost', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `login-${index}`)
  await Promise.all(names.map(add))
  const { config, credentials } = readConfig(files)
  expect(Object.keys(config.contexts).toSorted()).toEqual(names.toSorted())
  expect(Object.keys(credentials.tokens).toSorted()).toEqual(names.toSorted())
})

test('a lock that a killed svc left is taken away', async () => {
  await add('one')
  const lock = join(files.folder, 'lock')
  writeFileSync(lock, 'somebody')
  utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000))
  await add('two')
  expect(Object.keys(readConfig(files).config.contexts)).toEqual(['one', 'two'])
})

test('a change that fails changes nothing', async () => {
  await add('one')
  const before = readFileSync(files.config, 'utf8')
  await expect(
    updateConfig(files, ({ config }) => {
      delete config.contexts['one']
      throw new ServiceError('CONFLICT')
    }),
  ).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(readFileSync(files.config, 'utf8')).toBe(before)
})

test('fields of a later svc are kept, and a link to the file stays one', async () => {
  await add('one')
  const elsewhere = join(home, 'dotfiles.json')
  const { version, contexts } = readConfig(files).config
  writeFileSync(elsewhere, JSON.stringify({ version, contexts, theme: 'dark' }))
  rmSync(files.config)
  symlinkSync(elsewhere, files.config)
  await add('two')
  expect(JSON.parse(readFileSync(elsewhere, 'utf8'))).toMatchObject({ theme: 'dark', contexts: { two: {} } })
})

/** Somebody's logins are in it: it is named, and not touched. */
describe('a damaged file', () => {
  test.each([
    ['', 'not valid JSON'],
    ['{"version": 1, "contexts": {', 'not valid JSON'],
    ['null', 'no version'],
    ['[]', 'no version'],
    ['{"contexts": {}}', 'no version'],
    ['{"version": 1}', 'no contexts'],
    ['{"version": 1, "contexts": []}', 'no contexts'],
    ['{"version": 1, "contexts": {"a": {"api_url": "nowhere"}}}', 'contexts.a is invalid'],
    ['{"version": 1, "contexts": {}, "current": 7}', 'current is not a string'],
    [
      '{"version": 2, "contexts": {}}',
      'was written by a newer version of svc (format 2; this version supports 1)',
    ],
  ])('%s', async (content, expected) => {
    await add('one')
    writeFileSync(files.config, content)
    await expect(add('two')).rejects.toThrow(expected)
    await expect(add('two')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining(files.config) as string,
      hint: expect.stringContaining('not changed') as string,
    })
    expect(readFileSync(files.config, 'utf8')).toBe(content)
    expect(readFileSync(files.credentials, 'utf8')).not.toContain('svc_two')
  })

  test('a folder in its place, and a folder that cannot be written to', async () => {
    await add('one')
    rmSync(files.config)
    execFileSync('mkdir', [files.config])
    expect(() => readConfig(files)).toThrow(/cannot be read \(EISDIR\)/)
    const under = configPaths(fakeEnvironment({ env: { SVC_CONFIG_DIR: join(files.credentials, 'svc') } }))
    await expect(updateConfig(under, () => undefined)).rejects.toMatchObject({ code: 'UNEXPECTED' })
  })
})
