/** The backup of Postgres as docs/operating.md says it: dumped while svc runs, restored into an empty database. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, expect, inject, test } from 'vitest'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { readText } from '../repository/source-tree.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { unique } from '../support/make.ts'
import { firstWordsIn, processes } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const own = processes()
const names: string[] = []
const server = suitableServer()
afterEach(own.cleanUp)
afterAll(async () => {
  for (const name of names) await onServer(server!, `drop database if exists ${name} with (force)`)
})

/** One that the machine's pg_dump can dump: not newer than itself. */
function suitableServer(): string | undefined {
  const { stdout } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' })
  const own = Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0)
  return [process.env['TEST_PGVECTOR_URL'], inject('postgres').url].find((url) => {
    if (url === undefined) return false
    const asked = spawnSync('psql', ['--no-psqlrc', '-At', '-c', 'show server_version_num', url], {
      encoding: 'utf8',
    })
    return asked.status === 0 && Number(asked.stdout) < (own + 1) * 10_000
  })
}

async function newDatabase(): Promise<string> {
  const name = unique('backup').replaceAll('-', '_')
  names.push(name)
  await onServer(server!, `create database ${name}`)
  return databaseUrl(server!, name)
}

test('what is dumped is restored, with everybody and their tokens', async ({ skip }) => {
  skip(server === undefined, 'no pg_dump here is as new as a server of the tests')
  const [dump, restore] = commands('Backup of Postgres')
  const folder = await own.newFolder()
  const secrets = freshSecrets()
  const [before, after] = [await newDatabase(), await newDatabase()]
  const settings = {
    ...secrets,
    SVC_ORG: 'Acme',
    ARGON2_MEMORY_KIB: '64',
    SVC_DATA_DIR: join(folder, 'data'),
  }
  const first = await own.start({ env: { ...settings, DATABASE_URL: before } })
  const { token, email, password } = await firstWordsIn(first)
  await first.as({ token: (await first.as()(signInWithPassword, { email, password })).token })(
    createOrganization,
    {
      name: 'Second',
    },
  )
  const paste = (command: string, DATABASE_URL: string) =>
    execFileSync('bash', ['-euc', command], { cwd: folder, env: { PATH: process.env['PATH'], DATABASE_URL } })
  paste(dump!, before)
  const known = await first.as({ token })(whoAmI, {})
  await first.stop()

  paste(restore!, after)
  const second = await own.start({ env: { ...settings, DATABASE_URL: after } })
  expect(await second.as({ token })(whoAmI, {})).toEqual(known)
  expect(await second.as()(signInWithPassword, { email, password })).toMatchObject({ user: { email } })
  expect((await second.fetch('/readyz')).status).toBe(200)
})

/** The blocks below a heading. */
const commands = (heading: string): string[] =>
  [
    ...readText('docs/operating.md')
      .split(`\n### ${heading}\n`)[1]!
      .split(/\n##+ /)[0]!
      .matchAll(/^```sh\n(.*?)^```$/gms),
  ].map(([, block]) => block!)
