/**
 * A Postgres that loses the last of what it had acknowledged, as an asynchronous cluster does when its primary dies: what was
 * revoked stays revoked with a journal, refresh chains go on, and without a journal nobody was promised that.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from '../../db/drizzle.ts'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { connect } from '../../db/connect.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { createAppToken, revokeAppToken, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { blockOauthClient, revokeGrant } from '../../src/contracts/grants.ts'
import { addGroupMember, createGroup, removeGroupMember, showGroup } from '../../src/contracts/groups.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import { rotateSession, signInWithPassword, signOut } from '../../src/contracts/sessions.ts'
import { SESSION_ROTATION_GRACE_SECONDS } from '../../src/contracts/limits.ts'
import { revokeApiToken, rotateApiToken } from '../../src/contracts/tokens.ts'
import { recordRestore } from '../../src/cores/endings/index.ts'
import { addEndingKeeper } from '../../src/cores/record-ending.ts'
import { newAssistant, preRegistered, startListeningSystem, tokensIn, whoami } from '../support/assistant.ts'
import { freePort } from '../support/free-port.ts'
import { askCli, renew, signInCli, tokensOf } from '../support/cli-login.ts'
import { makeApiToken, makeMember, makeOrganization, PASSWORD, signedIn, unique } from '../support/make.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let server: TestPostgres
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-lost-tail-'))
  server = await startPostgres()
  const { sql, close } = await connect({ url: server.url })
  await migrate(sql, await readMigrations(fileURLToPath(new URL('../../db/migrations', import.meta.url))))
  await close()
})
afterAll(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

let secrets: Record<string, string>
beforeEach(async () => {
  // The clock of a test begins where that of the one before did, so its processes would seem to be there.
  const { sql, close } = await connect({ url: server.url })
  await sql.query(`delete from installation_facts where name like 'endings_process:%'`)
  await sql.query('delete from processes')
  await close()
  secrets = {
    DATA_KEY: randomBytes(32).toString('hex'),
    ACTOR_ASSERTION_SECRET: randomBytes(32).toString('hex'),
  }
})

type Process = TestSystem & {
  /** Where it listens: of two with the same address, as behind a proxy, the first does. */
  readonly origin: string | undefined
  readonly end: () => Promise<void>
}

let port = ''
beforeAll(async () => {
  port = String(await freePort())
})

async function startProcess(journal: string | undefined, listens = true): Promise<Process> {
  const connection = await connect({ url: server.url })
  const env = {
    ...secrets,
    PORT: port,
    STOP_SECONDS: '0',
    TRUSTED_PROXIES: '127.0.0.1',
    SVC_SERVICES: 'api-gateway,auth-service,mcp-server,deploy-api',
    ...(journal !== undefined && { ENDINGS_JOURNAL: join(folder, journal) }),
  }
  const starting = listens ? startListeningSystem(env, { connection }) : startSystem(env, { connection })
  const system: TestSystem & { origin?: string } = await starting.catch(async (error: unknown) => {
    await connection.close()
    throw error
  })
  let hasEnded = false
  const end = async () => {
    if (hasEnded) return
    hasEnded = true
    await system.stop()
    await connection.close()
  }
  stops.push(end)
  return { ...system, origin: system.origin, db: connection.db, end }
}

const startFirst = async (journal: string | undefined) => (await startProcess(journal)) as ListeningProcess

/** As clients do: whoever gets a connection to a server that is gone is told to try again. */
const untilReached = <T>(ask: () => Promise<T>): Promise<T> =>
  vi.waitFor(ask, { timeout: 60_000, interval: 500 })

const promiseOf = async (process: Process) =>
  ((await (await process.fetch('/readyz')).json()) as { endings?: string }).endings

type ListeningProcess = Process & { readonly origin: string }

/** Everything of one organization that can be used, each with how to end it. */
async function furnish(system: ListeningProcess) {
  const org = await makeOrganization(system)
  const [leaver, signer, changer, lowered] = [
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'admin'),
  ]
  const alias = unique('shop')
  await org.owner.call(createApp, { alias, name: 'Shop' })
  const { id: group_id } = await org.owner.call(createGroup, { name: 'board' })
  await org.owner.call(addGroupMember, { group_id, member_id: signer.userId })
  const appToken = (name: string) => org.owner.call(createAppToken, { alias, name, scope: 'apps:report' })
  const [session, token, rotated, app, rotatedApp] = [
    await signedIn(system, signer.email),
    await makeApiToken(system, org, org.owner),
    await makeApiToken(system, org, org.owner),
    await appToken('collector'),
    await appToken('rotated'),
  ]
  const theirs = await makeApiToken(system, org, leaver)
  const cli = await signInCli(system, org, org.owner)
  const client = await preRegistered(system)
  const grant = await newAssistant(system, client).connect(org.owner)
  const blocked = await preRegistered(system)
  const ofBlocked = await newAssistant(system, blocked).connect(org.owner)

  const statusOf = (answer: Promise<unknown>): Promise<string> =>
    answer.then(
      () => 'let in',
      (error: { code?: string }) => error.code ?? 'no answer',
    )
  const pushing = (value: string, at: Process) =>
    statusOf(
      at.as({ token: value })(pushLogs, { alias, body: Buffer.from('{"level":"info","text":"up"}\n') }),
    )
  const as = (value: string, at: Process) => statusOf(at.as({ token: value })(whoAmI, {}))
  const mcp = async (value: string, origin: string) => {
    const { status } = await whoami({ origin }, value)
    return status === 200 ? 'let in' : status === 401 ? 'UNAUTHENTICATED' : 'UNAVAILABLE'
  }
  /** Whether each is still let in, asked of this process. */
  const ask = async (at: Process): Promise<Record<string, string>> => ({
    session: await as(session.token, at),
    apiToken: await as(token.token, at),
    rotatedApiToken: await as(rotated.token, at),
    appToken: await pushing(app.token, at),
    rotatedAppToken: await pushing(rotatedApp.token, at),
    cliLogin: await as(cli.access, at),
    ...(at.origin !== undefined && {
      grant: await mcp(grant.access, at.origin),
      grantOfBlockedClient: await mcp(ofBlocked.access, at.origin),
    }),
    loweredRole: await statusOf(
      at.as({ token: lowered.token, organization: org.id })(listAudit, { org_id: org.id }),
    ),
    groupMember: await statusOf(
      at
        .as({ token: org.owner.token, organization: org.id })(showGroup, { group_id })
        .then(({ members }) => (members.length > 0 ? members : Promise.reject(notFound()))),
    ),
    tokenOfMember: await as(theirs.token, at),
    password: await statusOf(at.as()(signInWithPassword, { email: changer.email, password: PASSWORD })),
  })
  const newPassword = 'some other words for the tests'
  async function end(by: Process): Promise<{ newApiToken: string; newAppToken: string }> {
    const owner = by.as({ token: org.owner.token, organization: org.id })
    await by.as({ token: session.token })(signOut, { session_id: 'current' })
    await owner(revokeApiToken, { token_id: token.id })
    await owner(revokeAppToken, { alias, token_id: app.id })
    await owner(revokeGrant, { grant_id: grant.grantId })
    await owner(removeMember, { org_id: org.id, user_id: leaver.userId })
    await owner(changeMemberRole, { org_id: org.id, user_id: lowered.userId, role: 'viewer' })
    await owner(removeGroupMember, { group_id, member_id: signer.userId })
    await owner(blockOauthClient, { client_id: blocked.clientId, blocked: true })
    const change = { current_password: PASSWORD, new_password: newPassword, end_api_tokens: false }
    await by.as({ token: changer.token })(changePassword, change)
    const login = await renew(by, cli.refresh)
    const { access } = tokensOf(by, login.body)
    await by.as({ token: access })(whoAmI, {})
    await askCli(by, 'revoke', { token: String(login.body['refresh_token']) })
    const newApi = await owner(rotateApiToken, { token_id: rotated.id, overlap_hours: 0 })
    const newApp = await owner(rotateAppToken, { alias, token_id: rotatedApp.id, overlap_hours: 0 })
    return { newApiToken: newApi.token, newAppToken: newApp.token }
  }
  return { org, ask, end, newPassword, changer, pushing, as }
}

const all = (answers: Record<string, string>) => new Set(Object.values(answers))

/** The processes are asked all the time; nobody is let in with what was ended, not even once. */
async function comeBack(
  at: Process,
  ended: Awaited<ReturnType<typeof furnish>>,
  living: Awaited<ReturnType<typeof furnish>>,
): Promise<Set<string>> {
  const answers = new Set<string>()
  await expect
    .poll(
      async () => {
        const [dead, alive] = await Promise.all([ended.ask(at), living.ask(at)])
        for (const [name, answer] of Object.entries(dead)) if (answer === 'let in') answers.add(name)
        return all(alive)
      },
      { timeout: 60_000 },
    )
    .toEqual(new Set(['let in']))
  return answers
}

const endedAgain = async (at: Process, org: Awaited<ReturnType<typeof makeOrganization>>) =>
  (
    await at.as({ token: org.owner.token, organization: org.id })(listAudit, {
      org_id: org.id,
      action: 'access.ended_again',
    })
  ).audit

test.each(['promoted', 'copied'] as const)(
  'with a journal that they share, nothing that was ended comes back (%s)',
  async (how) => {
    const journal = unique('shared')
    const [one, two] = [await startFirst(journal), await startProcess(journal, false)]
    expect(await promiseOf(two)).toBe('shared journal')
    const [ended, living] = [await furnish(one), await furnish(one)]
    expect(all(await ended.ask(two))).toEqual(new Set(['let in']))
    await server.save()
    await comeBack(two, living, living)
    const { newApiToken, newAppToken } = await ended.end(two)
    expect(Object.values(await ended.ask(one))).not.toContain('let in')
    // It dies with the primary, and the other has never heard of what it ended.
    await two.end()
    await server.failOver(how)
    expect(await comeBack(one, ended, living)).toEqual(new Set())
    // Leases of the lost tail are waited for by receipts.
    const lost = sql`select from processes where name like 'before %' and not is_remote`
    expect(await one.db.execute(lost)).toHaveLength(1)
    const again = await endedAgain(one, ended.org)
    expect(again.length).toBeGreaterThan(5)
    expect(again[0]).toMatchObject({ actor: { kind: 'system', name: 'svc' } })
    expect(await endedAgain(one, living.org)).toEqual([])
    // What took the place of what ended is there.
    expect(await ended.as(newApiToken, one)).toBe('let in')
    expect(await ended.pushing(newAppToken, one)).toBe('let in')
    const { email } = ended.changer
    await one.as()(signInWithPassword, { email, password: ended.newPassword })
    const late = await startProcess(journal, false)
    late.clock.advance(600)
    expect(Object.values(await ended.ask(late))).not.toContain('let in')
    expect(await endedAgain(late, ended.org)).toHaveLength(again.length)
  },
)

test('with journals of their own, what only a process knows that is gone ends when that is back', async () => {
  const [mine, theirs] = [unique('own'), unique('own')]
  const [one, two] = [await startFirst(mine), await startProcess(theirs, false)]
  const [ofOne, ofTwo, living] = [await furnish(one), await furnish(one), await furnish(one)]
  await expect.poll(() => promiseOf(one)).toBe('own journals')
  await server.save()
  await comeBack(two, living, living)
  await ofOne.end(one)
  await ofTwo.end(two)
  await two.end()
  await server.failOver()
  expect(await comeBack(one, ofOne, living)).toEqual(new Set())
  expect(all(await ofTwo.ask(one))).toContain('let in')
  await startProcess(theirs, false)
  expect(Object.values(await ofTwo.ask(one))).not.toContain('let in')
})

test('without one nothing is promised, and that is said', async () => {
  const one = await startFirst(undefined)
  const [ended, living] = [await furnish(one), await furnish(one)]
  expect(await promiseOf(one)).toBe('nothing')
  expect(one.logLines.join('')).toContain('may be undone by a failover')
  await server.save()
  await comeBack(one, living, living)
  await ended.end(one)
  await server.failOver()
  expect(await comeBack(one, ended, living)).toContain('apiToken')
  expect(one.logLines.join('')).toContain('the database has gone back')
})

test('who goes back on purpose says so, and nothing is ended again', async () => {
  const journal = unique('restored')
  const one = await startFirst(journal)
  const ended = await furnish(one)
  await server.save()
  await comeBack(one, ended, ended)
  await ended.end(one)
  await one.end()
  await server.failOver()
  const { db, close } = await connect({ url: server.url })
  await recordRestore(db, new Date())
  await close()
  const restored = await startProcess(journal)
  expect(all(await ended.ask(restored))).toEqual(new Set(['let in']))
})

test('an ending that cannot be written to the journal is not acknowledged, and not done', async () => {
  const journal = unique('gone')
  const one = await startFirst(journal)
  const org = await makeOrganization(one)
  const token = await makeApiToken(one, org, org.owner)
  await rm(join(folder, journal), { recursive: true })
  const refused = org.owner.call(revokeApiToken, { token_id: token.id })
  await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(await token.call(whoAmI, {})).toMatchObject({ organization: { id: org.id } })
})

test('an ending that is refused because the database died before its commit is not done later', async () => {
  const journal = unique('refused')
  const one = await startFirst(journal)
  const [org, other] = [await makeOrganization(one), await makeOrganization(one)]
  const [kept, ended] = [await makeApiToken(one, org, org.owner), await makeApiToken(one, other, other.owner)]
  await other.owner.call(revokeApiToken, { token_id: ended.id })
  let halted: Promise<void> | undefined
  const leave = addEndingKeeper(one.db, {
    async committing() {
      await (halted = server.halt())
      return async () => {}
    },
  })
  const refused = org.owner.call(rotateApiToken, { token_id: kept.id, overlap_hours: 0 })
  await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  leave()
  await halted
  await server.resume()
  // At a start all of the journal is compared with the database.
  const late = await startProcess(journal, false)
  expect(await late.as({ token: kept.token })(whoAmI, {})).toMatchObject({ organization: { id: org.id } })
  await expect(late.as({ token: ended.token })(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(await endedAgain(late, org)).toEqual([])
})

test('what was rotated in the lost tail goes on: of an agent, of a login of the client, and of a browser', async () => {
  const one = await startFirst(undefined)
  const org = await makeOrganization(one)
  const assistant = newAssistant(one, await preRegistered(one))
  const first = await assistant.connect(org.owner)
  const login = await signInCli(one, org, org.owner)
  const browsers = [await signedIn(one, org.owner.email), await signedIn(one, org.owner.email)]
  await server.save()
  await expect.poll(async () => (await whoami(one, first.access)).status, { timeout: 60_000 }).toBe(200)
  one.clock.advance(10)
  const lost = tokensIn(await assistant.refresh(first.refresh))
  const lostLogin = tokensOf(one, (await renew(one, login.refresh)).body)
  const lostRotations = await Promise.all(
    browsers.map(({ call }) => untilReached(async () => (await call(rotateSession, {})).token)),
  )
  await server.failOver()
  await expect.poll(async () => (await whoami(one, lost.access)).status, { timeout: 60_000 }).toBe(200)
  const next = tokensIn(await assistant.refresh(lost.refresh))
  expect((await whoami(one, next.access)).status).toBe(200)
  const renewed = tokensOf(one, (await renew(one, lostLogin.refresh)).body)
  expect(await renewed.call(whoAmI, {})).toMatchObject({ organization: { id: org.id } })
  const answered = (token: string) => untilReached(() => one.as({ token })(whoAmI, {}))
  const tabs = await Promise.all(
    lostRotations.flatMap((token) => [answered(token), answered(token), answered(token)]),
  )
  expect(tabs.map(({ kind }) => kind)).toEqual(tabs.map(() => 'user'))
  one.clock.advance(SESSION_ROTATION_GRACE_SECONDS + 1)
  await expect(browsers[0]!.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  const left = lostRotations.map((token) => one.as({ token })(whoAmI, {}))
  expect((await Promise.allSettled(left)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  // Whoever has the one before loses it for both.
  expect((await assistant.refresh(first.refresh)).status).toBe(400)
  expect((await assistant.refresh(next.refresh)).status).toBe(400)
})
