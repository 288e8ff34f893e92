/** The whole program in one process on the embedded database: first words, chores, refusals, stops and crashes. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { copyFile, readdir, writeFile } from 'node:fs/promises'
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import type { Call } from '../../src/client/http-client.ts'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { listMembers } from '../../src/contracts/members.ts'
import { createOrganization, listOrganizations } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { freePort } from '../support/free-port.ts'
import {
  expectSilence,
  firstWordsIn,
  migratedFolder,
  processes,
  readFirstWords,
  secretsOf,
  wordsOf,
  type Env,
  type ServerProcess,
} from '../support/process.ts'

const own = processes()
afterEach(own.cleanUp)

/** Without a sample, which costs seconds. */
const newInstallation = async (): Promise<Env & { SVC_DATA_DIR: string }> => ({
  SVC_ORG: 'Home',
  // What the tests write again and again.
  ORGANIZATIONS_PER_PERSON: '1000000',
  SVC_DATA_DIR: await migratedFolder(own),
  // The same at every start: tokens name the address at which they were given.
  PORT: String(await freePort()),
})

const signIn = async (server: ServerProcess, { email, password }: { email: string; password: string }) =>
  (await server.as()(signInWithPassword, { email, password })).token

const firstFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.startsWith('first-run'))

// First words

// The terminal is one of `script`.
const hasScript = canRun('script', '--version')

test.skipIf(!hasScript)(
  'at a terminal the first words hold the secrets, once, and no file stays',
  async () => {
    const installation = { ...(await newInstallation()), LOG_FORMAT: 'text' }
    const first = await own.start({ env: installation, terminal: true })
    const words = readFirstWords(first.stdout())
    expect(wordsOf(first)).toEqual([
      'Welcome to svc. This is shown only once:',
      `  Console   ${first.origin}/console`,
      `  Email     ${words.email}`,
      `  Password  ${words.password}`,
      '  Connect Claude Code:',
      `  claude mcp add --transport http svc ${first.origin}/platform`,
      '  Log in with the client:',
      `  ./bin/svc login --api-url ${first.origin}`,
      '  In a script:',
      `  echo ${words.token} | ./bin/svc login --api-url ${first.origin} --api-key -`,
      '  Try it:',
      `  curl -H 'Authorization: Bearer ${words.token}' ${first.origin}/api/v1/me`,
    ])
    expect(await firstFiles(first.dataFolder)).toEqual([])
    await signIn(first, words)
    const { expires_at } = await first.as({ token: words.token })(whoAmI, {})
    expect((Date.parse(expires_at!) - Date.now()) / 86_400_000).toBeCloseTo(30, 1)
    first.press('\u0003')
    expect(await first.exited).toMatchObject({ code: 0 })
    expectSilence(first, await secretsOf(installation))

    const second = await own.start({ env: installation, terminal: true })
    expect(wordsOf(second)).toEqual([`Console: ${second.origin}/console`])
    second.press('\u0003')
    expect(await second.exited).toMatchObject({ code: 0 })
    expectSilence(second, [words.password, words.token, ...(await secretsOf(installation))])
  },
)

test('an owner named beforehand gets no file, and a later start with other names changes nothing', async () => {
  const installation = await newInstallation()
  const ada = {
    SVC_ADMIN_EMAIL: 'Ada@Example.com',
    SVC_ADMIN_PASSWORD: 'a password of her own',
    SVC_ORG: 'Ada & Söhne',
  }
  const first = await own.start({ env: { ...installation, ...ada } })
  const credentials = { email: 'ada@example.com', password: ada.SVC_ADMIN_PASSWORD }
  const token = await signIn(first, credentials)
  expect(await first.as({ token })(whoAmI, {})).toMatchObject({
    role: 'owner',
    organization: { name: 'Ada & Söhne' },
  })
  expect(await firstFiles(first.dataFolder)).toEqual([])
  await first.stop()
  expectSilence(first, [ada.SVC_ADMIN_PASSWORD, token, ...(await secretsOf(installation))])

  const eve = { SVC_ADMIN_EMAIL: 'eve@example.com', SVC_ADMIN_PASSWORD: 'another password', SVC_ORG: 'Eve' }
  const second = await own.start({ env: { ...installation, ...eve } })
  expect(wordsOf(second)).toEqual([])
  const again = second.as({ token: await signIn(second, credentials) })
  expect((await again(listOrganizations, {})).organizations.map(({ name }) => name)).toEqual(['Ada & Söhne'])
  await expect(
    signIn(second, { email: 'eve@example.com', password: eve.SVC_ADMIN_PASSWORD }),
  ).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
})

/** The password was once thrown away before it was said, and a taken port was all it took. */
test('a first start that ends before it said anything is made up for by the next', async () => {
  const installation = await newInstallation()
  const neighbor = await own.start({ env: { ...(await newInstallation()), PORT: installation['PORT']! } })
  const refused = await own.run({ env: installation })
  const { port } = neighbor
  expect(refused).toMatchObject({
    code: 1,
    stderr: `Port ${port} is in use. Stop the other program, or set PORT.\n`,
  })
  await neighbor.stop()

  const next = await own.start({ env: installation })
  expect(wordsOf(next)[0]).toMatch(/^First owner: /)
  await signIn(next, await firstWordsIn(next))
})

test('damaged secrets end the start with a sentence, not with a process that hangs', async () => {
  const installation = await newInstallation()
  await writeFile(join(installation.SVC_DATA_DIR, 'secrets.json'), '{}')
  const { code, stderr } = await own.run({ env: installation })
  expect(code).toBe(1)
  expect(stderr).toMatch(/secrets.json is damaged\. Restore it from a backup: .*\n$/)
})

test('a taken port of the managed databases ends the start with a sentence, before anybody is let in', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  onTestFinished(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const env = { ...(await newInstallation()), MANAGED_DATABASE_PORT: String(port) }
  expect(await own.run({ env })).toMatchObject({
    code: 1,
    stderr: `Port ${port} is in use. Stop the other program, or set MANAGED_DATABASE_PORT.\n`,
  })
})

test('a collector of traces that is away costs neither answers nor a good stop', async () => {
  const env = {
    ...(await newInstallation()),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
  }
  const server = await own.start({ env })
  const { token } = await firstWordsIn(server)
  expect(await server.as({ token })(whoAmI, {})).toMatchObject({ role: 'owner' })
  // What is not sent by the end of its time would be an ending by force.
  expect(await server.stop()).toMatchObject({ code: 0 })
})

// Chores

test('a folder is migrated, backed up, restored elsewhere and replaced, and every step says what it did', async () => {
  const home = await own.newFolder()
  const installation = { SVC_DATA_DIR: join(home, 'data'), PORT: String(await freePort()) }
  const chore = (folder: string, ...args: string[]) => own.run({ env: { SVC_DATA_DIR: folder }, args })
  const file = join(home, 'backup')
  const data = installation.SVC_DATA_DIR

  expect(await chore(data, 'backup', file)).toMatchObject({
    code: 1,
    stderr: `There is no database in ${data}: nothing to back up\n`,
  })
  expect(await chore(data, 'migrate', '--check')).toMatchObject({
    code: 0,
    stdout: `There is no database in ${data}: the first start makes one.\n`,
  })
  const applied = await chore(data, 'migrate')
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Applied: 0000_/) as string })
  expect(await chore(data, 'migrate')).toMatchObject({ code: 0, stdout: 'No pending migrations.\n' })

  const first = await own.start({ env: installation })
  const token = await signIn(first, await firstWordsIn(first))
  await first.as({ token })(createOrganization, {
    name: 'Before',
  })
  expect(await askSample(first, token)).toEqual(['work-from-abroad'])
  await first.stop()
  expect(await chore(data, 'backup', file)).toEqual({
    code: 0,
    signal: null,
    stdout: `Backed up the databases to ${file}. Keep a copy of ${data}/secrets.json in another place: tokens need both.\n`,
    stderr: '',
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await chore(data, 'backup', file)).toMatchObject({
    code: 1,
    stderr: `${file} exists already: choose another name, or add --force to replace it\n`,
  })
  expect(await chore(data, 'backup', '--force', file)).toMatchObject({ code: 0 })

  const elsewhere = join(home, 'elsewhere')
  expect(await chore(elsewhere, 'restore', file)).toMatchObject({
    code: 0,
    stdout: `Restored ${file} to ${elsewhere}.\n`,
  })
  await copyFile(join(data, 'secrets.json'), join(elsewhere, 'secrets.json'))
  const restored = await own.start({ env: { ...installation, SVC_DATA_DIR: elsewhere } })
  expect(wordsOf(restored)).toEqual([])
  expect(await namesSeenBy(restored.as({ token }))).toEqual(['Before', 'Sample organization'])
  // The managed databases came along, in the same backup.
  expect(await askSample(restored, token)).toEqual(['work-from-abroad'])
  await restored.stop()

  const refused = await chore(data, 'restore', file)
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${data} already holds a database`) as string,
  })
  const replacing = await chore(data, 'restore', '--replace', file)
  expect(replacing).toMatchObject({ code: 0 })
  const aside = (await readdir(data)).filter((name) => name.includes('.before-restore-'))
  expect(aside.toSorted().map((name) => name.split('.')[0])).toEqual(['databases', 'db'])
  for (const name of aside) expect(replacing.stdout).toContain(join(data, name))
  await writeFile(file, 'nonsense')
  expect(await chore(data, 'restore', '--replace', file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot be restored, and nothing was changed') as string,
  })
  const replaced = await own.start({ env: installation })
  expect(await namesSeenBy(replaced.as({ token }))).toEqual(['Before', 'Sample organization'])
  expect(await askSample(replaced, token)).toEqual(['work-from-abroad'])
})

/** In the organization of the first start: its owner has founded another one since. */
async function askSample(server: ServerProcess, token: string): Promise<string[]> {
  const all = await organizationsSeenBy(server.as({ token }))
  const organization = all.find(({ name }) => name === 'Sample organization')!.id
  const question = { source_id: SAMPLE_SOURCE, query: SAMPLE_QUESTION, top_k: 1 }
  const { results } = await server.as({ token, organization })(queryDataSource, question)
  return results.map(({ id }) => id)
}

test.each(['backup', 'restore'])('%s is not for Postgres, which has its own tools', async (chore) => {
  const env = { DATABASE_URL: 'postgres://user:geheim@db.invalid/svc' }
  expect(await own.run({ env, args: [chore, 'file'] })).toMatchObject({
    code: 1,
    stderr: `${chore} is for the embedded database. For Postgres, use pg_dump and pg_restore.\n`,
  })
})

test('a database of a newer program is used, unless a migration of it says that it breaks this one', async () => {
  const installation = await newInstallation()
  const record = async (name: string) => {
    const { sql, close } = await connect({ folder: installation.SVC_DATA_DIR })
    await sql.query(`insert into svc_migrations values ($1, 'x', now())`, [name])
    await close()
  }
  await record('9998_from_the_future')
  expect(await own.run({ env: installation, args: ['migrate'] })).toMatchObject({
    code: 0,
    stdout: 'No pending migrations.\nThis database is newer than this program: 9998_from_the_future.\n',
  })
  await record('9999_breaking')
  for (const args of [[], ['migrate'], ['migrate', '--check']]) {
    expect(await own.run({ env: installation, args })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it holds the migration 9999_breaking, applied on ') as string,
    })
  }
})

// The end

test('a signal that comes twice within a moment is one wish: what was begun is answered', async () => {
  const { server } = await busyServer()
  const half = await halfRequest(server)
  server.kill('SIGINT')
  server.kill('SIGTERM')
  await untilStopping(server)
  expect(await half.finish()).toMatch(/^HTTP\/1\.1 400 /)
  expect(await server.exited).toMatchObject({ code: 0 })
})

test('a later one ends the waiting', async () => {
  const { server } = await busyServer({ STOP_SECONDS: '600' })
  await halfRequest(server)
  server.kill('SIGTERM')
  await untilStopping(server)
  const again = setInterval(() => server.kill('SIGTERM'), 100)
  onTestFinished(() => clearInterval(again))
  expect(await server.exited).toMatchObject({ code: 1 })
})

async function untilStopping(server: ServerProcess): Promise<void> {
  await expect
    .poll(() => server.logLines().map(({ event }) => event), { timeout: 60_000 })
    .toContain('stopping')
}

/** Of which the server has the head, and awaits the body. */
async function halfRequest({ port }: ServerProcess) {
  const socket = connectTcp(port, '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  let said = ''
  socket.on('error', () => {}).on('data', (text: string) => (said += text))
  const head = ['Content-Type: application/json', 'Content-Length: 2', 'Expect: 100-continue']
  socket.write(`POST /api/v1/sessions HTTP/1.1\r\nHost: localhost:${port}\r\n${head.join('\r\n')}\r\n\r\n{`)
  const go = 'HTTP/1.1 100 Continue\r\n\r\n'
  await expect.poll(() => said).toBe(go)
  return {
    async finish(): Promise<string> {
      socket.write('}')
      await expect.poll(() => said.length).toBeGreaterThan(go.length)
      return said.slice(go.length)
    },
  }
}

test('asked to stop under load, it answers whatever it began and does nothing that it does not answer', async () => {
  const { installation, server, token } = await busyServer()
  const load = keepFounding(server, token)
  await load.until(40)
  const { code } = await server.stop()
  await load.ended
  expect(code).toBe(0)
  expect(load.refusals()).toEqual([])

  const again = await own.start({ env: installation })
  const names = await namesSeenBy(again.as({ token }))
  expect(names.filter((name) => name !== 'Home')).toEqual([...load.answered].toSorted())
})

test('killed under load, it comes up with all it ever confirmed, and nothing half done', async () => {
  const { installation, server, token } = await busyServer()
  let confirmed: string[] = []
  let running = server
  for (let round = 0; round < 3; round++) {
    const load = keepFounding(running, token)
    await load.until(20)
    expect(await running.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    await load.ended
    confirmed = [...confirmed, ...load.answered]

    running = await own.start({ env: installation })
    const call = running.as({ token })
    const organizations = await organizationsSeenBy(call)
    const names = new Set(organizations.map(({ name }) => name))
    expect(confirmed.filter((name) => !names.has(name))).toEqual([])
    for (const { id, role } of organizations) {
      const { members } = await running.as({ token, organization: id })(listMembers, { org_id: id })
      expect([role, members.map((member) => member.role)]).toEqual(['owner', ['owner']])
    }
  }
})

/** With a person's token: organizations are founded by people, not by tokens of an organization. */
async function busyServer(more: Env = {}) {
  const installation = { ...(await newInstallation()), ...more }
  const server = await own.start({ env: installation })
  return { installation, server, token: await signIn(server, await firstWordsIn(server)) }
}

/** Eight clients that found organizations until nobody answers any more. */
function keepFounding(server: ServerProcess, token: string) {
  const answered = new Set<string>()
  const refusals: string[] = []
  let count = 0
  const client = async (own: number) => {
    for (;;) {
      const name = `Load ${process.hrtime.bigint()} ${own}.${count++}`
      const response = await server
        .fetch('/api/v1/orgs', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name }),
        })
        // Nobody is there any more, or nobody was when it arrived.
        .catch(() => undefined)
      if (!response) return
      // An answer that began must also end.
      const body = await response.text().catch((error: unknown) => String(error))
      if (response.status === 201 && (JSON.parse(body) as { name: string }).name === name) answered.add(name)
      else refusals.push(`${response.status} ${body}`)
    }
  }
  const ended = Promise.all(Array.from({ length: 8 }, (_, at) => client(at)))
  return {
    answered,
    refusals: () => refusals,
    ended,
    async until(many: number) {
      while (answered.size < many) await Promise.race([ended, sleep(20)])
    },
  }
}

async function organizationsSeenBy(call: Call) {
  const all = []
  let cursor: string | undefined
  do {
    const page = await call(listOrganizations, { limit: 200, ...(cursor === undefined ? {} : { cursor }) })
    all.push(...page.organizations)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all
}

const namesSeenBy = async (call: Call): Promise<string[]> =>
  (await organizationsSeenBy(call)).map(({ name }) => name).toSorted()

function canRun(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    console.log(`Tests at a terminal are skipped: there is no program \`${program}\` here.`)
    return false
  }
}
