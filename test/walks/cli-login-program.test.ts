/** The program itself signs in by a code; it waits real seconds between its questions. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { and, eq, isNotNull } from '../../db/drizzle.ts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cliLogins } from '../../db/schema.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { denyCliLogin } from '../../src/cores/identity/index.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { decideOn, readSaved, renew, signedInWalker, svcIn, typeCode } from '../support/cli-login.ts'
import { makeOrganization, type Org } from '../support/make.ts'

const SVC = fileURLToPath(new URL('../../bin/svc', import.meta.url))

let system: ListeningSystem
let home: string
/** Of one person. */
let [org, other]: Org[] = []
beforeAll(async () => {
  system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
  home = mkdtempSync(join(tmpdir(), 'svc-cli-login-'))
  org = await makeOrganization(system)
  other = await makeOrganization(system, org.owner)
})
afterAll(async () => {
  rmSync(home, { recursive: true, force: true })
  await system.stop()
})

const login = () => ['login', '--api-url', system.origin]

test('where no browser opens, it shows a code', async () => {
  const start = svcIn(join(home, 'fallback'), login(), async () => false)
  const [row] = await vi.waitFor(async () => {
    const waiting = and(isNotNull(cliLogins.userCodeHash), eq(cliLogins.address, '127.0.0.1'))
    const found = await system.db.select().from(cliLogins).where(waiting)
    expect(found).toHaveLength(1)
    return found
  }, 20_000)
  await denyCliLogin({ ...system, clock: () => system.clock.now(), keyFor: () => new Uint8Array() }, row!)
  expect(await start).toMatchObject({ exit: 3, err: expect.stringMatching(/Code {3}[A-Z]{4}-/) as string })
})

test('the program by a code, and svc logout', async () => {
  const folder = join(home, 'device')
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, SVC_CONFIG_DIR: folder }
  const program = spawn(process.execPath, [SVC, ...login(), '--device'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const code = new Promise<string>((resolve) => {
    program.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const [, found] = /Code {3}([A-Z]{4}-[A-Z]{4})\n/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  const exited = new Promise((resolve) => program.once('exit', resolve))
  const walker = await signedInWalker(system, org!.owner)
  const page = await typeCode(walker, (await code).toLowerCase().replace('-', ' '))
  expect(page.words).toContain(`Code ${await code} Your terminal must show the same.`)
  expect((await decideOn(walker, page, 'approve', other!.id)).words).toContain('Device signed in')
  // Real seconds pass for the program alone: for the server it would ask too often.
  system.clock.advance(60)
  expect([await exited, said]).toEqual([0, expect.stringContaining(`owner of ${other!.name}.`)])
  const { tokens, logins } = readSaved(folder)
  expect((await svcIn(folder, ['logout'])).err).toBe('Logged out of localhost.\n')
  expect(readSaved(folder)).toMatchObject({ tokens: {}, logins: {} })
  await expect(system.as({ token: tokens['localhost']! })(whoAmI, {})).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  expect((await renew(system, logins['localhost']!.refresh_token)).body['error']).toBe('invalid_grant')
  expect((await svcIn(folder, ['status'])).exit).toBe(3)
})
