import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { resetPasswordCommand } from './reset-password-command.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'svc-reset-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

const PROVIDER = { GOOGLE_CLIENT_ID: 'id', GOOGLE_CLIENT_SECRET: 'secret' }

test.each<[string, Record<string, string>, string, RegExp]>([
  [
    'in hosted mode',
    {
      AUTH_MODE: 'hosted',
      AUTH_SERVICE_URL: 'https://auth.vendor.test',
      AUTH_LOGIN_URL: 'https://vendor.test/login',
      HOSTED_ORGS: `org_${'0'.repeat(25)}`,
      SVC_SERVICES: 'console',
    },
    'ada@people.test',
    /vendor/,
  ],
  [
    'where password sign-in is off',
    { PASSWORD_SIGN_IN: 'off' },
    'ada@people.test',
    /Password sign-in is off/,
  ],
  ['beside a provider', PROVIDER, 'ada@people.test', /Password sign-in is off/],
  ['for what is no address', {}, 'ada', /not an email address/],
  ['where there is no database', {}, 'ada@people.test', /There is no database in/],
])('is refused %s, and leaves nothing behind', async (_where, env, email, said) => {
  const config = readConfig({ SVC_DATA_DIR: folder, ...env })
  await expect(resetPasswordCommand(config, email)).rejects.toThrow(said)
  expect(await readdir(folder)).toEqual([])
})
