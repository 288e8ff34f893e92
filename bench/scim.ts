/** What a first sync of a directory costs: 5,000 people and 200 groups, as Entra sends them, until nothing is left to do. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres.ts'
import { newDatabase } from './connector.ts'
import { inLanes } from './load.ts'
import {
  cpuSeconds,
  freePort,
  inTemporaryFolder,
  startServer,
  untilAnswers,
  type Program,
} from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'

const PEOPLE = sized(5_000, 40)
const GROUPS = sized(200, 4)
/** Of each group; Entra sends them in parts. */
const MEMBERS = sized(50, 5)
const TARGET_SECONDS = 60
const DOMAIN = 'bench.test'
const OPERATOR = randomBytes(32).toString('hex')

export const scim = () =>
  inTemporaryFolder(async (folder) => {
    const postgres = await startPostgres()
    let server: Program | undefined
    try {
      const secret = () => randomBytes(32).toString('hex')
      const port = await freePort()
      const origin = `http://localhost:${port}`
      server = startServer(folder, port, {
        DATABASE_URL: await newDatabase(postgres.url, 'scim'),
        MANAGED_DATABASE_URL: 'embedded',
        JWT_SECRET: secret(),
        JWT_SIGNING_KEY: secret(),
        ACTOR_ASSERTION_SECRET: secret(),
        DATA_KEY: secret(),
        SVC_OPERATOR_TOKEN: OPERATOR,
        OIDC_ISSUER: 'https://idp.test',
        OIDC_CLIENT_ID: 'bench',
        OIDC_CLIENT_SECRET: 'bench',
        PASSWORD_SIGN_IN: 'on',
      })
      await untilAnswers(`${origin}/readyz`, server)
      const owner = /svc_\w+/.exec(readFileSync(join(folder, 'first-run.txt'), 'utf8'))![0]
      const { organization } = await sent<{ organization: { id: string } }>(
        origin,
        owner,
        'GET',
        '/api/v1/me',
      )
      const domains = `/api/v1/admin/orgs/${organization.id}/domains`
      await sent(origin, OPERATOR, 'PUT', domains, { domains: [DOMAIN] })
      const { token } = await sent<{ token: string }>(origin, owner, 'POST', '/api/v1/scim', {
        provider: 'oidc',
      })
      return await measure(server, (method, path, body) =>
        sent(origin, token, method, `/scim/v2${path}`, body),
      )
    } finally {
      await server?.stop()
      await postgres.stop()
    }
  })

type Send = <T>(method: string, path: string, body?: object) => Promise<T>
type Found = { readonly totalResults: number; readonly Resources: readonly { readonly id: string }[] }

async function measure(server: Program, send: Send): Promise<string[]> {
  const lines: string[] = []
  let total = 0
  const stage = async (name: string, work: () => Promise<unknown>) => {
    const [cpu, began] = [cpuSeconds(server), performance.now()]
    await work()
    const seconds = cpuSeconds(server) - cpu
    total += seconds
    lines.push(
      `${name.padEnd(34)} ${seconds.toFixed(1)} s of CPU in ${((performance.now() - began) / 1000).toFixed(0)} s`,
    )
  }
  const ids: string[] = []
  await stage(`${PEOPLE} people`, async () => {
    let next = 0
    await inLanes(PEOPLE, async () => void ids.push(await createPerson(send, next++)))
  })
  await stage(`${GROUPS} groups of ${MEMBERS}`, async () => {
    let next = 0
    await inLanes(GROUPS, () => createGroup(send, next++, ids))
  })
  await stage('the same again, nothing to change', async () => {
    let next = 0
    await inLanes(PEOPLE, async () => void (await findPerson(send, next++)))
  })
  const { totalResults } = await send<Found>('GET', '/Users?count=0')
  if (totalResults !== PEOPLE) throw new Error(`there are ${totalResults} people`)
  return [
    ...lines,
    `${'the whole sync'.padEnd(34)} ${total.toFixed(1)} s of CPU (target at most ${TARGET_SECONDS} s: ${metOrMissed(total <= TARGET_SECONDS)})`,
  ]
}

const nameOf = (n: number): string => `person-${n}@${DOMAIN}`
const findPerson = (send: Send, n: number) =>
  send<Found>('GET', `/Users?filter=${encodeURIComponent(`userName eq "${nameOf(n)}"`)}`)

/** Entra looks for everybody before it creates them. */
async function createPerson(send: Send, n: number): Promise<string> {
  const { totalResults } = await findPerson(send, n)
  if (totalResults !== 0) throw new Error(`${nameOf(n)} is there already`)
  const { id } = await send<{ id: string }>('POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    externalId: `oid-${n}`,
    userName: nameOf(n),
    active: true,
    displayName: `Person ${n}`,
    emails: [{ primary: true, type: 'work', value: nameOf(n) }],
    name: { familyName: String(n), givenName: 'Person' },
  })
  return id
}

async function createGroup(send: Send, n: number, ids: readonly string[]): Promise<void> {
  const displayName = `Group ${n}`
  const asked = encodeURIComponent(`displayName eq "${displayName}"`)
  await send<Found>('GET', `/Groups?excludedAttributes=members&filter=${asked}`)
  const { id } = await send<{ id: string }>('POST', '/Groups', {
    displayName,
    externalId: `gid-${n}`,
    members: [],
  })
  const members = Array.from({ length: MEMBERS }, (_, m) => ({ value: ids[(n * MEMBERS + m) % ids.length]! }))
  await send('PATCH', `/Groups/${id}`, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'Add', path: 'members', value: members }],
  })
}

/** Whoever is told to wait waits, as directories do. */
async function sent<T>(
  origin: string,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  for (;;) {
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.status === 429 || response.status === 503) {
      const seconds = Number(response.headers.get('retry-after') ?? 1)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      continue
    }
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return (text === '' ? {} : JSON.parse(text)) as T
  }
}
