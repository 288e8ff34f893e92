import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createServiceApp } from '../http/service-app.ts'
import { createLogger } from '../observe/log.ts'
import { noTracing } from '../observe/tracing-port.ts'
import { readPublishedSkills } from '../skills/read-published.ts'
import { createSite, type SiteDeps } from './app.ts'

const AT = '/.well-known/agent-skills'
const COMMIT = 'c'.repeat(40)
const skills = readPublishedSkills()

/** Skills need no gateway. */
const nobody = () => Promise.reject(new Error('nobody asks the gateway here'))

/** Inside the service app, as in production. */
function siteWith(deps: Pick<SiteDeps, 'skills' | 'commit' | 'tag'>) {
  const serviceApp = createServiceApp('site', {
    log: createLogger({ level: 'silent', pretty: false, write: () => {}, clock: () => new Date() }),
    metrics: undefined,
    tracing: noTracing,
    clock: () => new Date(),
  })
  const consoleUrl = new URL('https://app.example.com/console')
  return serviceApp.route('/', createSite({ ...deps, consoleUrl, gateway: nobody }))
}
const TAG = `v${skills.version}`
const site = siteWith({ skills, commit: COMMIT, tag: TAG })
const ask = async (path: string, init?: RequestInit) => site.request(`https://example.com${path}`, init)

type Index = { $schema: string; skills: Record<string, unknown>[]; _source: object }
const index = async (): Promise<Index> => (await (await ask(`${AT}/index.json`)).json()) as Index

const everyPath = [
  `${AT}/index.json`,
  ...skills.skills.flatMap(({ id, files, archive }) => [
    ...(archive ? [`${AT}/${id}.tar.gz`] : []),
    ...files.map(({ path }) => `${AT}/${id}/${path}`),
  ]),
]

test('the index lists every skill as draft 0.2.0 requires, and its source', async () => {
  const { $schema, skills: listed, _source } = await index()
  expect($schema).toBe('https://schemas.agentskills.io/discovery/0.2.0/schema.json')
  expect(_source).toEqual({ ref: TAG, commit: COMMIT })
  expect(listed.map(({ name, type }) => [name, type])).toEqual([
    ['svc', 'archive'],
    ['svc-ai-gateway', 'archive'],
    ['svc-faq', 'skill-md'],
  ])
  for (const [at, skill] of skills.skills.entries()) {
    expect(listed[at]).toMatchObject({
      description: skill.frontmatter.description,
      files: skill.files.map(({ path }) => path),
      version: skills.version,
    })
  }
})

test('every digest of the index is that of the bytes its url leads to', async () => {
  for (const { url, digest } of (await index()).skills) {
    const bytes = await (await ask(String(url))).bytes()
    expect(digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
  }
})

test.each(everyPath)(
  '%s: its type, its length, and nothing that would change it on the way',
  async (path) => {
    const answer = await ask(path, { headers: { 'accept-encoding': 'gzip, br' } })
    const bytes = await answer.bytes()
    const types: Record<string, string> = {
      json: 'application/json',
      gz: 'application/gzip',
      md: 'text/markdown; charset=utf-8',
    }
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': types[path.split('.').at(-1)!],
      'content-length': String(bytes.length),
      'cache-control': 'public, max-age=300, no-transform',
      etag: `"sha256-${createHash('sha256').update(bytes).digest('hex')}"`,
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag',
      'x-content-type-options': 'nosniff',
    })
    expect(answer.headers.get('content-encoding')).toBeNull()
    expect(answer.headers.get('set-cookie')).toBeNull()

    const head = await ask(path, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.headers.get('content-length')).toBe(String(bytes.length))
    expect(await head.text()).toBe('')
  },
)

test.each([
  ['the same', (etag: string) => etag, 304],
  ['a weak one', (etag: string) => `W/${etag}`, 304],
  ['one of several', (etag: string) => `"other", ${etag}`, 304],
  ['anything', () => '*', 304],
  ['another', () => '"sha256-0"', 200],
  ['nonsense', () => ',,', 200],
])('If-None-Match with %s', async (_what, known, status) => {
  const etag = (await ask(`${AT}/svc.tar.gz`)).headers.get('etag')!
  const again = await ask(`${AT}/svc.tar.gz`, { headers: { 'if-none-match': known(etag) } })
  expect(again.status).toBe(status)
  expect(again.headers.get('etag')).toBe(etag)
  if (status === 304) expect(await again.text()).toBe('')
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  '%s is refused, with the methods that are not',
  async (method) => {
    const refused = await ask(`${AT}/index.json`, { method })
    expect(refused.status).toBe(405)
    expect(refused.headers.get('allow')).toBe('GET, HEAD')
  },
)

test('another origin may send headers of its own', async () => {
  const headers = {
    origin: 'https://elsewhere.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'if-none-match',
  }
  const allowed = await ask(`${AT}/index.json`, { method: 'OPTIONS', headers })
  expect(allowed.status).toBe(204)
  expect(allowed.headers.get('access-control-allow-origin')).toBe('*')
  expect(allowed.headers.get('access-control-allow-headers')).toBe('if-none-match')
  expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
})

test.each([
  AT,
  `${AT}/`,
  `${AT}/svc`,
  `${AT}/svc-faq.tar.gz`,
  `${AT}/svc/references`,
  `${AT}/svc/references/nothing.md`,
  `${AT}/svc/../../../package.json`,
  `${AT}/svc/%2e%2e/%2e%2e/package.json`,
  `${AT}/svc%2fSKILL.md`,
  `${AT}/SVC/SKILL.md`,
  `${AT}/svc/SKILL.md/`,
  `${AT}/manifest.json`,
  `${AT}/__proto__`,
])('%s is not found, also for another origin', async (path) => {
  const nothing = await ask(path)
  expect(nothing.status).toBe(404)
  expect(nothing.headers.get('content-type')).toBe('application/json')
})

test('the root redirects to the console', async () => {
  const home = await ask('/')
  expect([home.status, home.headers.get('location')]).toEqual([302, 'https://app.example.com/console'])
})

test('an installation that does not know its commit says so, and names no tag that is not there', async () => {
  const answer = await siteWith({ skills, commit: null, tag: null }).request(`${AT}/index.json`)
  expect(((await answer.json()) as Index)._source).toEqual({ ref: null, commit: null })
})

test('before the first release the index is there and empty', async () => {
  const first = siteWith({ skills: undefined, commit: null, tag: null })
  const answer = await first.request(`${AT}/index.json`)
  expect(await answer.json()).toEqual({
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: [],
    _source: { ref: null, commit: null },
  })
  for (const { id } of skills.skills) {
    expect((await first.request(`${AT}/${id}/SKILL.md`)).status).toBe(404)
    expect((await first.request(`${AT}/${id}.tar.gz`)).status).toBe(404)
  }
})
