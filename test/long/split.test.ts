/** Several processes that are one installation: auth service, gateway and console apart and twice, deploy-api by itself, over one Postgres. */
import { createServer, request as httpRequest, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { createApp, listApps } from '../../src/contracts/apps.ts'
import { listDataSources, queryDataSource } from '../../src/contracts/data-sources.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { changeMemberRole, listInvitations, listMembers } from '../../src/contracts/members.ts'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { listSessions, signInWithPassword, signOut } from '../../src/contracts/sessions.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import {
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { firstWordsIn, processes, wordsOf, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets, type TestSystem } from '../support/system.ts'
import { newWalker, type Walker } from '../support/walker.ts'

/** A database with nothing in it, not even our tables. */
async function emptyDatabase(): Promise<{ url: string; drop: () => Promise<unknown> }> {
  const { url } = inject('postgres')
  const name = unique('split').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  return { url: databaseUrl(url, name), drop: () => onServer(url, `drop database ${name} with (force)`) }
}

/** What stands before a real installation: one public address, requests to each replica in turn, Host as it came. */
function openBalancer(port: number, replicasFor: (path: string) => readonly number[]): Server {
  let turn = 0
  return createServer((incoming, outgoing) => {
    const replicas = replicasFor(incoming.url!)
    const forwarded = [incoming.headers['x-forwarded-for'] ?? [], incoming.socket.remoteAddress]
      .flat()
      .join(', ')
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, 'x-forwarded-for': forwarded }
    const onward = httpRequest(
      {
        host: '127.0.0.1',
        port: replicas[turn++ % replicas.length]!,
        method: method!,
        path: path!,
        headers,
        agent: false,
      },
      (answer) => answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)),
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  }).listen(port, '127.0.0.1')
}

function closeBalancer(balancer: Server): void {
  balancer.closeAllConnections()
  balancer.close()
}

/** As far as people, members and walkers are made with it. */
const systemAt = (env: Env, db: Connection['db'] | undefined): TestSystem => {
  const config = readConfig(env)
  return {
    system: { config },
    db,
    clock: { now: () => new Date() },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
  } as TestSystem
}

/** Past the balancer, to one replica itself. */
const at = ({ port }: ServerProcess, token: string) =>
  httpClient(overNetwork(new URL(`http://127.0.0.1:${port}`)), { token })

async function signInToConsole(walker: Walker, email: string) {
  const page = await walker.follow(await walker.open('/console'))
  return walker.follow(await walker.submit(page, 'Sign in', { email, password: PASSWORD }))
}

describe('auth service, gateway with worker and console, two processes of each behind one address for each host', () => {
  const own = processes()
  const balancers: Server[] = []
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let connection: Connection
  let env: Env
  let system: TestSystem
  let auths: ServerProcess[]
  let gateways: ServerProcess[]
  let owner: Person
  let orgId: string

  beforeAll(async () => {
    database = await emptyDatabase()
    const [app, api, auth, deploy] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
    env = {
      APP_URL: `http://localhost:${app}`,
      API_URL: `http://localhost:${api}`,
      AUTH_URL: `http://localhost:${auth}`,
      DEPLOY_URL: `http://127.0.0.1:${deploy}`,
      TRUSTED_PROXIES: '127.0.0.1',
      ARGON2_MEMORY_KIB: '64',
    }
    const { DATA_KEY, ...authSecrets } = freshSecrets()
    const inside = {
      ...env,
      ...authSecrets,
      SVC_SERVICES: 'auth-service',
      DATABASE_URL: database.url,
    }
    // Only what opens logins of managed databases and addresses of connections: whoever breaks into one of these can make no token.
    const outside = {
      ...env,
      SVC_SERVICES: 'api-gateway,console,worker',
      DATABASE_URL: database.url,
      DATA_KEY,
    }
    auths = await Promise.all([own.start({ env: inside }), own.start({ env: inside })])
    gateways = await Promise.all([own.start({ env: outside }), own.start({ env: outside })])
    // What it keeps sealed, it opens; it can make no token either.
    const apart = {
      ...env,
      SVC_SERVICES: 'deploy-api',
      DATA_KEY,
      DATABASE_URL: database.url,
      PORT: String(deploy),
    }
    await own.start({ env: apart })
    const [authPorts, gatewayPorts] = [auths, gateways].map((all) => all.map(({ port }) => port))
    balancers.push(
      openBalancer(app, (path) => (path.startsWith('/auth/') ? authPorts! : gatewayPorts!)),
      openBalancer(api, () => gatewayPorts!),
      openBalancer(auth, () => authPorts!),
    )
    connection = await connect({ url: database.url })
    system = systemAt(env, connection.db)
    owner = await makePerson(system)
    orgId = (await owner.call(createOrganization, { name: unique('Org') })).id
  })
  afterAll(async () => {
    balancers.forEach(closeBalancer)
    await own.cleanUp()
    await connection?.close()
    await database?.drop()
  })

  test('start on an empty database with one first owner and every migration applied once', async () => {
    const applied = auths.flatMap((server) =>
      server
        .logLines()
        .filter(({ event }) => event === 'migrations applied')
        .flatMap((line) => line['migrations'] as string[]),
    )
    const recorded = await connection.sql.query<{ name: string }>(
      'select name from svc_migrations order by name',
    )
    expect(applied.toSorted()).toEqual(recorded.map(({ name }) => name))
    expect(auths.flatMap(wordsOf)).toEqual([expect.stringMatching(/^First owner: owner@svc.localhost\. /)])
    expect(gateways.map(wordsOf)).toEqual(gateways.map(() => []))
  })

  test('one sign-in is good at every replica', async () => {
    for (const gateway of gateways) {
      expect(await at(gateway, owner.token)(whoAmI, {})).toMatchObject({
        user: { id: owner.userId },
        role: 'owner',
      })
      expect(await at(gateway, owner.token)(listSessions, {})).toMatchObject({
        sessions: [{ current: true }],
      })
    }
    for (const auth of auths) expect(await at(auth, owner.token)(listSessions, {})).toBeDefined()
  })

  test('a changed role acts on the very next call, whichever replica it goes through', async () => {
    const member = await makeMember(system, { id: orgId, name: '', slug: '', owner }, 'admin')
    const invitationsAt = (gateway: ServerProcess) =>
      at(gateway, member.token)(listInvitations, { org_id: orgId }).then(
        () => 'shown',
        ({ code }: { code: string }) => code,
      )
    const everywhere = () => Promise.all(gateways.map(invitationsAt))
    expect(await everywhere()).toEqual(['shown', 'shown'])
    for (const [role, seen] of [
      ['viewer', 'FORBIDDEN'],
      ['admin', 'shown'],
      ['developer', 'FORBIDDEN'],
    ] as const) {
      await owner.call(changeMemberRole, { org_id: orgId, user_id: member.userId, role })
      expect(await everywhere()).toEqual([seen, seen])
    }
  })

  test('an app made through one replica is there through the other', async () => {
    const alias = unique('app')
    await at(gateways[0]!, owner.token)(createApp, { alias, name: 'Shop' })
    const { apps } = await at(gateways[1]!, owner.token)(listApps, { search: alias })
    expect(apps).toMatchObject([{ alias, my_role: 'administrator' }])
  })

  test('a session that ended at one replica is over at all', async () => {
    const { token } = await system.as()(signInWithPassword, { email: owner.email, password: PASSWORD })
    await at(gateways[0]!, token)(signOut, { session_id: 'current' })
    for (const gateway of gateways) {
      await expect(at(gateway, token)(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  test('fifty requests at once are all answered, and rightly', async () => {
    const asked = Array.from({ length: 50 }, async (_, count) =>
      count % 2 === 0
        ? (await owner.call(whoAmI, {})).user.id
        : (await owner.call(listMembers, { org_id: orgId })).members.some(
            ({ user_id }) => user_id === owner.userId,
          ),
    )
    expect(await Promise.all(asked)).toEqual(asked.map((_, count) => (count % 2 === 0 ? owner.userId : true)))
  })

  /** Every step lands on another replica: cookies and forms of one must be understood by the other. */
  test('a person signs in to the console and works in it, over all replicas', async () => {
    const walker = newWalker(system, { overSockets: true })
    const overview = await signInToConsole(walker, owner.email)
    expect(overview.url.href).toBe(`${env['APP_URL']}/console`)
    for (const name of ['First of many', 'Second of many', 'Third of many']) {
      const form = await walker.open('/console/profile')
      const saved = await walker.follow(await walker.submit(form, 'Save name', { name }))
      expect([saved.status, saved.words.includes(name)]).toEqual([200, true])
      expect(await owner.call(whoAmI, {})).toMatchObject({ user: { name } })
    }
  })

  test('guesses are counted by the client’s own address, not by that of balancer or gateway', async () => {
    const guessFrom = async (address: string) => {
      const answer = await fetch(new URL('/api/v1/sessions', env['API_URL']), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ email: `${unique('nobody')}@people.test`, password: 'a wild guess' }),
      })
      return answer.status
    }
    const guesses = Array.from({ length: SIGN_IN_FAILURES_PER_ADDRESS.count }, () => guessFrom('203.0.113.7'))
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]))
    expect(await guessFrom('203.0.113.7')).toBe(429)
    expect(await guessFrom('203.0.113.8')).toBe(401)
  })

  test('a recurring job runs once, not once for every worker', async () => {
    const counts = await Promise.all(
      gateways.map(async ({ metricsPort }) => {
        const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
        return Number(/^svc_job_duration_seconds_count\{job="sweep"\} (\d+)$/m.exec(text)?.[1] ?? 0)
      }),
    )
    expect(counts.reduce((sum, count) => sum + count)).toBe(1)
  })

  test('a replica that goes is not missed', async () => {
    const [going] = gateways
    expect(await going!.stop()).toMatchObject({ code: 0 })
    expect(await at(gateways[1]!, owner.token)(whoAmI, {})).toMatchObject({ user: { id: owner.userId } })
  })
})

describe('refusals', () => {
  const own = processes()
  afterEach(own.cleanUp)

  const { JWT_SECRET, JWT_SIGNING_KEY, ACTOR_ASSERTION_SECRET } = freshSecrets()
  const url = 'postgres://user:geheim@127.0.0.1:9/svc'
  const HOSTED = {
    AUTH_MODE: 'hosted',
    AUTH_SERVICE_URL: 'https://auth.vendor.example',
    AUTH_LOGIN_URL: 'https://app.vendor.example/auth/sign-in',
    HOSTED_ORGS: `org_${'0'.repeat(25)}`,
  }
  test.each([
    [
      'auth-service,worker',
      { DATABASE_URL: url, JWT_SECRET, JWT_SIGNING_KEY },
      ['ACTOR_ASSERTION_SECRET: required by auth-service', 'DATA_KEY: required by worker'],
    ],
    [
      'auth-service',
      { DATABASE_URL: url, JWT_SECRET, ACTOR_ASSERTION_SECRET },
      ['JWT_SIGNING_KEY: required by auth-service'],
    ],
    ['api-gateway', { DATABASE_URL: url }, ['DATA_KEY: required by api-gateway']],
    [
      'api-gateway',
      { ...HOSTED, DATABASE_URL: url },
      ['ACTOR_ASSERTION_SECRET: required by api-gateway', 'DATA_KEY: required by api-gateway'],
    ],
  ])('%s without what it needs does not start and says what', async (SVC_SERVICES, env: Env, problems) => {
    const { code, stderr } = await own.run({ env: { SVC_SERVICES, ...env } })
    const many = `${problems.length} problem${problems.length === 1 ? '' : 's'}`
    expect([code, stderr]).toEqual([
      5,
      [`The configuration has ${many}:`, ...problems.map((one) => `  ${one}`), ''].join('\n'),
    ])
  })

  test('a database that cannot be reached is named without its password', async () => {
    const { code, stdout, stderr } = await own.run({ env: { DATABASE_URL: url, ...freshSecrets() } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Cannot connect to Postgres at 127\.0\.0\.1:9\/svc: .*\n$/)
    expect(stdout + stderr).not.toContain('geheim')
  })
})

describe('four replicas of everything at the same moment on an empty database', () => {
  const own = processes()
  afterEach(own.cleanUp)

  test.each(['one folder', 'a folder each'])(
    'with %s: one owner, told once, at home in all of them; where they share a folder, one sample too',
    async (folders) => {
      const { url, drop } = await emptyDatabase()
      onTestFinished(async () => void (await drop()))
      const shared = join(await own.newFolder(), 'data')
      const ports = await Promise.all(Array.from({ length: 4 }, freePort))
      const here = `http://localhost:${ports[0]}`
      const env = { DATABASE_URL: url, ...freshSecrets(), APP_URL: here, API_URL: here, AUTH_URL: here }
      const servers = await Promise.all(
        ports.map((port) =>
          own.start({
            env: {
              ...env,
              PORT: String(port),
              ...(folders === 'one folder'
                ? { SVC_DATA_DIR: shared, MANAGED_DATABASE_URL: 'embedded' }
                : { SVC_ORG: 'Replicas' }),
            },
          }),
        ),
      )
      const first = servers.filter((server) =>
        wordsOf(server).some((line) => line.startsWith('First owner: ')),
      )
      expect(first).toHaveLength(1)
      const { email, password, token } = await firstWordsIn(first[0]!)
      for (const { port } of servers) {
        const call = httpClient(overNetwork(new URL(`http://127.0.0.1:${port}`)))
        expect(await call(signInWithPassword, { email, password })).toMatchObject({
          organization: { role: 'owner' },
        })
      }
      if (folders === 'one folder') {
        // The others did not wait for the one that loads it; that one was not ready before it had.
        expect(
          servers
            .flatMap((server) => server.logLines())
            // The welcome has the first password, so LOG_LEVEL=warn shows it, too.
            .filter(({ level, event }) => level !== 'info' && event !== 'welcome'),
        ).toEqual([])
        for (const server of servers) {
          const call = at(server, token)
          expect((await call(listDataSources, {})).data_sources).toMatchObject([
            { source_id: SAMPLE_SOURCE, ready: true, exposed: true },
          ])
          const question = { source_id: SAMPLE_SOURCE, query: SAMPLE_QUESTION, top_k: 1 }
          expect((await call(queryDataSource, question)).results).toMatchObject([{ id: 'work-from-abroad' }])
        }
      }
      const applied = servers.flatMap((server) =>
        server.logLines().filter(({ event }) => event === 'migrations applied'),
      )
      const names = applied.flatMap((line) => line['migrations'] as string[])
      expect(new Set(names).size).toBe(names.length)
      const { sql, close } = await connect({ url })
      const [counts] = await sql.query(
        'select (select count(*)::int from users) as users, (select count(*)::int from organizations) as organizations, (select count(*)::int from svc_migrations) as migrations',
      )
      await close()
      expect(counts).toEqual({ users: 1, organizations: 1, migrations: names.length })
    },
  )
})

describe('a customer’s installation with the vendor’s auth service', () => {
  const own = processes()
  const databases: Awaited<ReturnType<typeof emptyDatabase>>[] = []
  let connections: Connection[]
  let vendorEnv: Env
  let vendor: ServerProcess
  let customer: ServerProcess
  let vendorSystem: TestSystem
  let customerSystem: TestSystem
  /** The one organization of the vendor that HOSTED_ORGS names. */
  let served: Org

  beforeAll(async () => {
    databases.push(await emptyDatabase(), await emptyDatabase())
    const [vendorPort, customerPort] = [String(await freePort()), String(await freePort())]
    vendorEnv = {
      PORT: vendorPort,
      SVC_ORG: 'Vendor',
      DATABASE_URL: databases[0]!.url,
      ALLOWED_REDIRECT_BASE_URLS: `http://localhost:${customerPort}`,
      ...freshSecrets(),
    }
    vendor = await own.start({ env: vendorEnv })
    connections = await Promise.all(databases.map(({ url }) => connect({ url })))
    const [first] = await connections[0]!.sql.query<Org>('select id, name, slug from organizations')
    served = first!
    const customerEnv: Env = {
      PORT: customerPort,
      DATABASE_URL: databases[1]!.url,
      AUTH_MODE: 'hosted',
      AUTH_SERVICE_URL: `http://localhost:${vendorPort}`,
      AUTH_LOGIN_URL: `http://localhost:${vendorPort}/auth/sign-in`,
      HOSTED_ORGS: served.id,
      ...freshSecrets(),
    }
    customer = await own.start({ env: customerEnv })
    vendorSystem = systemAt(vendorEnv, connections[0]!.db)
    customerSystem = systemAt(customerEnv, connections[0]!.db)
  })
  afterAll(async () => {
    await own.cleanUp()
    for (const { close } of connections ?? []) await close()
    for (const { drop } of databases) await drop()
  })

  test('has no people of its own: no first owner is made and told', async () => {
    expect(wordsOf(customer)).toEqual([])
    expect(await connections[1]!.sql.query('select from users')).toHaveLength(0)
    expect((await customer.fetch('/auth/sign-in')).status).toBe(404)
    expect((await vendor.fetch('/auth/sign-in')).status).toBe(200)
  })

  test('takes the vendor’s tokens, and a role changed there acts on the next call here', async () => {
    const { id: org_id, name } = served
    const owner = await makeMember(vendorSystem, served, 'owner')
    const member = await makeMember(vendorSystem, served, 'admin')
    const here = customer.as({ token: member.token })
    expect(await here(whoAmI, {})).toMatchObject({
      user: { id: member.userId },
      role: 'admin',
      organization: { name },
    })
    await owner.call(changeMemberRole, { org_id, user_id: member.userId, role: 'viewer' })
    expect(await here(whoAmI, {})).toMatchObject({ role: 'viewer' })
    const another = await makeOrganization(vendorSystem)
    await expect(customer.as({ token: another.owner.token })(whoAmI, {})).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(customer.as({ token: 'svc_nonsense' })(whoAmI, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
  })

  test('sends people to the vendor to sign in, and they come back into its own console', async () => {
    const person = await makeMember(vendorSystem, served, 'viewer')
    const walker = newWalker(customerSystem, { overSockets: true })
    const page = await signInToConsole(walker, person.email)
    expect([page.status, page.url.origin]).toEqual([200, customer.origin])
    expect(page.words).toContain(person.name)
    expect(walker.trail.some(({ url }) => url.origin === vendor.origin)).toBe(true)
  })

  test('tells its callers when the vendor is away, and goes on when it is back', async () => {
    const person = await makeMember(vendorSystem, served, 'viewer')
    const here = customer.as({ token: person.token })
    await vendor.stop()
    await expect(here(whoAmI, {})).rejects.toMatchObject({ code: 'TIMEOUT' })
    await expect(here(listSessions, {})).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect((await customer.fetch('/healthz')).status).toBe(200)
    await own.start({ env: vendorEnv })
    expect(await here(whoAmI, {})).toMatchObject({ user: { id: person.userId } })
  })
})
