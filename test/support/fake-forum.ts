/**
 * A forum as ours sees Discourse: whom a key speaks for is looked up in its order, a topic's external id is unique, and
 * a request without a text is told so only after it was let in.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Topic = {
  readonly username: string
  readonly title: string
  readonly raw: string
  readonly category: number
  readonly externalId: string
}

export type FakeForum = {
  readonly url: string
  readonly topics: Topic[]
  /** A key for all users, or one that is bound to a user. */
  makeKey(boundTo?: string): string
  /** Somebody with an account there, known by an id of ours. */
  addPerson(username: string, externalId?: string): void
  suspend(username: string): void
  /** The next posts end like this; `hang up after`: the topic is made and the answer lost. */
  failNext(how: Failure, times?: number): void
  /** As long as it is true, looking a topic up does not work either. */
  breakLookup(broken: boolean): void
  close(): Promise<void>
}

type Failure =
  | 'hang up'
  | 'hang up after'
  | 'error after'
  | { readonly status: number; readonly retryAfter?: number }
type Person = { externalId: string | undefined; suspended: boolean }

export async function startFakeForum(): Promise<FakeForum> {
  const keys = new Map<string, { boundTo: string | undefined }>()
  const people = new Map<string, Person>([['system', { externalId: undefined, suspended: false }]])
  const topics: Topic[] = []
  const failures: Failure[] = []
  let lookupBroken = false

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const end = (status: number, said: unknown, headers: Record<string, string> = {}) =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(said))
    const path = request.url ?? '/'
    const wanted = /^\/t\/external_id\/([\w-]+)\.json$/.exec(path)?.[1]
    if (wanted !== undefined && lookupBroken) return void response.destroy()
    const username = speaksFor(request.headers)
    if (username === undefined) {
      return end(403, {
        errors: ['You are not permitted to view the requested resource.'],
        error_type: 'invalid_access',
      })
    }
    if (wanted !== undefined) {
      const at = topics.findIndex(({ externalId }) => externalId === wanted)
      return at < 0
        ? end(404, { error_type: 'not_found' })
        : end(301, {}, { location: `${url}/t/topic/${at}.json` })
    }
    if (request.method !== 'POST' || path !== '/posts.json') return end(404, { error_type: 'not_found' })
    return create(username, JSON.parse(body || '{}') as Record<string, unknown>, response, end)
  }

  /** The order counts: a bound key never looks at the external id. */
  function speaksFor(headers: IncomingHttpHeaders): string | undefined {
    const header = (name: string) => headers[name]?.toString()
    const key = keys.get(header('api-key') ?? '')
    if (!key) return undefined
    const named = header('api-username')
    const external = header('api-user-external-id')
    const username =
      key.boundTo !== undefined
        ? named === undefined || named === key.boundTo
          ? key.boundTo
          : undefined
        : (named ??
          (external === undefined
            ? undefined
            : [...people].find(([, person]) => person.externalId === external)?.[0]))
    const person = people.get(username ?? '')
    return person && !person.suspended ? username : undefined
  }

  function create(
    username: string,
    asked: Record<string, unknown>,
    response: ServerResponse,
    end: (status: number, said: unknown, headers?: Record<string, string>) => void,
  ) {
    const field = (name: string) => (typeof asked[name] === 'string' ? asked[name] : '')
    const [raw, title] = [field('raw'), field('title')]
    if (!raw) return end(400, { errors: ['param is missing or the value is empty: raw'] })
    const invalid = (said: string) => end(422, { action: 'create_post', errors: [said] })
    if (title.length < 15) return invalid('Title is too short (minimum is 15 characters)')
    if (raw.length < 20) return invalid('Body is too short (minimum is 20 characters)')
    const externalId = field('external_id')
    if (!/^[\w-]{1,50}$/.test(externalId)) return invalid('External is invalid')
    const failure = failures.shift()
    if (failure === 'hang up') return void response.destroy()
    if (typeof failure === 'object') {
      const wait = failure.retryAfter === undefined ? {} : { 'retry-after': String(failure.retryAfter) }
      return end(failure.status, {}, wait)
    }
    if (topics.some((topic) => topic.externalId === externalId))
      return invalid('External has already been taken')
    topics.push({ username, title, raw, category: Number(asked['category']), externalId })
    if (failure === 'hang up after') return void response.destroy()
    if (failure === 'error after') return end(502, {})
    end(200, { id: topics.length, topic_id: topics.length, topic_slug: 'topic', username })
  }

  return {
    url,
    topics,
    makeKey(boundTo) {
      const key = randomBytes(32).toString('hex')
      keys.set(key, { boundTo })
      return key
    },
    addPerson: (username, externalId) => void people.set(username, { externalId, suspended: false }),
    suspend: (username) => void people.set(username, { ...people.get(username)!, suspended: true }),
    failNext(how, times = 1) {
      for (let n = 0; n < times; n++) failures.push(how)
    },
    breakLookup: (broken) => void (lookupBroken = broken),
    async close() {
      server.closeAllConnections()
      if (server.listening) await new Promise((closed) => server.close(closed))
    },
  }
}
