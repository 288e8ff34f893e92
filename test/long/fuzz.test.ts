/**
 * A hundred requests to every operation that the OpenAPI document names, most of them spoiled, over a real socket: each is
 * answered or refused in our own words, and never by a 5xx.
 */
import { randomInt } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ERRORS, type ErrorCode } from '../../src/contracts/errors.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { API_OPERATIONS, inputsOf, type ApiOperation } from '../support/api-requests.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { configurationOf, entry, makeSource, placeForDatabases, toyModels } from '../support/data-sources.ts'
import { fakeChatApp, fakeChecks } from '../support/fake-integrations.ts'
import { makeFurnishedWorld, type FurnishedWorld } from '../support/furnished-world.ts'
import { makeOrganization, signedIn, unique, type Org } from '../support/make.ts'
import { CONFORMING, spoiledRequests, type WireRequest } from '../support/mutations.ts'
import { refusal } from '../support/refusal.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'

/** Another one each time. To repeat a run, write the number that it printed here. */
const SEED = randomInt(2 ** 31)
/** Of so many requests one is sent by the owner of another organization. */
const FOREIGN_EVERY = 8
/** As many as a busy client has open. */
const AT_ONCE = 4
/** After these, people sign in again. */
const ENDS_SESSIONS = new Set([
  'rotateSession',
  'signOut',
  'signOutEverywhere',
  'endAccessSince',
  'endWithReceipt',
  'removeOrganization',
])
/** Whose things are a member's own, and not the owner's. */
const MEMBERS_OWN = new Set(['acknowledgeNotification', 'updateMySubscription', 'removeChatLink'])

let system: ListeningSystem
let place: Awaited<ReturnType<typeof placeForDatabases>>
const models = toyModels()
const agent = new Agent({ keepAlive: true })
/** For what only reads; whatever writes gets one of its own. */
let shared: FurnishedWorld
let other: Org
const prototypeBefore = Object.getOwnPropertyNames(Object.prototype)

beforeAll(async () => {
  console.info(`The seed of this run is ${SEED}.`)
  place = await placeForDatabases('embedded')
  system = await startListeningSystem(
    {
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api',
      QUESTIONS_PER_MINUTE: '100000',
      ...place.settings,
    },
    { checks: fakeChecks, chatApp: fakeChatApp, models, withMail: true },
  )
  other = await makeOrganization(system)
  shared = await withSource(await makeFurnishedWorld(system))
})

afterAll(async () => {
  agent.destroy()
  await place.clear(system)
  await system.stop()
  await models.close()
  await place.remove()
})

const newWorld = async ({ path }: ApiOperation): Promise<FurnishedWorld> => {
  const world = await makeFurnishedWorld(system)
  return path.startsWith('/api/wf/data') ? withSource(world) : world
}

/** With a source that answers questions. */
async function withSource(world: FurnishedWorld): Promise<FurnishedWorld> {
  const name = unique('books').replace('-', '_')
  const { sourceId } = await makeSource(world.org, {
    name,
    sql: `create table books (id int primary key, title text, embedding vector(3));
      insert into books values (1, 'One', '[1,0,0]'), (2, 'Two', '[0,1,0]')`,
    configuration: configurationOf([entry('books', { fetchable: true, hybrid: true })], { title: 'string' }),
  })
  const known = {
    ...world.known,
    source_id: [sourceId],
    sources: [sourceId],
    target: ['books'],
    label: ['books'],
    table: ['books'],
    model: ['toy-3'],
    dimensions: [3],
    content_columns: ['id,title'],
    columns: ['embedding'],
    filters: [{ title: 'One' }, { title: ['One', 'Two'] }, { id: 1 }],
    'showConnectionString.name': [name],
    'removeDatabase.name': [name],
    confirm: [name],
  }
  return { ...world, known }
}

/** A server may close a connection while the next request is on its way: as any client does, that one is sent again. */
const send = (request: WireRequest, token: string | undefined): Promise<Response> =>
  sendBy(agent, request, token).catch(() => sendBy(false, request, token))

function sendBy(
  by: Agent | false,
  { method, target, headers, body }: WireRequest,
  token: string | undefined,
): Promise<Response> {
  const url = new URL(system.origin)
  return new Promise((resolve, reject) => {
    const options = {
      agent: by,
      host: '127.0.0.1',
      port: url.port,
      path: target,
      method,
      headers: {
        accept: 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        // Throttles count by address.
        'x-forwarded-for': `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`,
        ...headers,
        host: url.host,
        'content-length': String(body?.length ?? 0),
      },
    }
    const outgoing = httpRequest(options, (incoming) => {
      const chunks: Buffer[] = []
      // What goes on by itself is not waited for.
      if (incoming.headers['content-type'] === 'text/event-stream') {
        resolve(new Response(null, { status: incoming.statusCode! }))
        incoming.destroy()
      }
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const status = incoming.statusCode!
        const content = status === 204 ? null : Buffer.concat(chunks)
        resolve(new Response(content, { status, headers: incoming.headers as Record<string, string> }))
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

const describedBy = ({ method, target, headers, body }: WireRequest): string =>
  [method, target, JSON.stringify(headers), body?.toString('latin1') ?? '']
    .map((part) => part.slice(0, 400))
    .join(' ')

/** The only answers of 500 and above: somebody else who is needed does not answer. */
const ABSENT: Readonly<Record<string, readonly ErrorCode[]>> = {
  // The forum of the key `down` never answers.
  connectForum: ['TIMEOUT'],
  // Nor does the chat service to the code `down`.
  completeChatInstall: ['TIMEOUT'],
  // No git host is there.
  setAppRemote: ['TIMEOUT'],
}

/** What Node's own HTTP parser refuses, and no code of ours sees: bytes that no request line may have. */
const isParsersRefusal = (response: Response, text: string): boolean =>
  response.status === 400 && text === '' && response.headers.get('connection') === 'close'

async function expectOwnWords(name: string, request: WireRequest, response: Response): Promise<void> {
  if (response.ok) return
  const text = await response.clone().text()
  if (/[\x80-\xff]/.test(request.target) && isParsersRefusal(response, text)) return
  // A HEAD has no body to look at.
  if (request.method === 'HEAD') expect(response.status).toBeLessThan(500)
  else await refusal(response, ABSENT[name])
}

const declared = new Map<string, Operation>(OPERATIONS.map((op) => [op.name, op]))
/** Those that answered at least one request that keeps to the schema. */
const answered = new Set<string>()

test('every operation of the document is sent to', () => {
  expect(API_OPERATIONS.map(({ name }) => name).toSorted()).toEqual([...declared.keys()].toSorted())
})

test.each(API_OPERATIONS.map((op): [string, ApiOperation] => [op.name, op]))('%s', async (name, op) => {
  const { access, readOnly } = declared.get(name)!
  const world = readOnly ? shared : await newWorld(op)
  const person = MEMBERS_OWN.has(name) ? world.people.member : world.org.owner
  const otherOrg = readOnly ? other : await makeOrganization(system)
  // Sessions of their own: some of these operations end them.
  const signIn = async () => ({
    own: access === 'operator' ? OPERATOR_TOKEN : (await signedIn(system, person.email)).token,
    foreign: (await signedIn(system, otherOrg.owner.email)).token,
  })
  let tokens = await signIn()
  const requests = spoiledRequests(
    op,
    inputsOf(op, world.known),
    (SEED + API_OPERATIONS.indexOf(op)) % 2 ** 31,
  )
  for (let at = 0; at < requests.length; at += AT_ONCE) {
    const sent = requests.slice(at, at + AT_ONCE).map(async (request, nth) => {
      const isForeign = (at + nth) % FOREIGN_EVERY === FOREIGN_EVERY - 1
      const response = await send(request, isForeign ? tokens.foreign : tokens.own)
      const what = `seed ${SEED}, request ${at + nth}: ${describedBy(request)}`
      await expectOwnWords(name, request, response).catch((error: unknown) => {
        throw new Error(`${what} was answered with ${response.status}`, { cause: error })
      })
      if (response.ok && at + nth < CONFORMING) answered.add(name)
      return response.status
    })
    const statuses = await Promise.all(sent)
    if (statuses.includes(401) && ENDS_SESSIONS.has(name)) tokens = await signIn()
  }
})

test('most operations were not only refused', () => {
  // What is made here is JSON: who takes bytes refuses all of it. Some of the others answer a runner with a claim only.
  const names = API_OPERATIONS.map(({ name }) => name).filter((name) => !declared.get(name)!.http.takes)
  const refused = names.filter((name) => !answered.has(name))
  expect(refused.length, refused.join(', ')).toBeLessThan(names.length / 4)
})

test('the process still answers, and nothing of all this was an error of ours', async () => {
  expect((await fetch(`${system.origin}/healthz`)).status).toBe(200)
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototypeBefore)
  const errors = system.logLines
    .map((line) => JSON.parse(line) as { level: string; route?: string; status?: number })
    .filter(({ level }) => level === 'error')
    // The gateway passes some on.
    .filter(
      ({ route = '', status }) => !(ABSENT[route.replace('relay ', '')] && status === ERRORS.TIMEOUT.status),
    )
  expect(errors).toEqual([])
})
