/** The skills over MCP and installed are those of this program; by HTTP they are those of the newest release. */
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { applyPlan, planInstall } from '../../src/cli/install/install-skill.ts'
import { dispatcher } from '../../src/boot/listener.ts'
import { readPublishedSkills } from '../../src/skills/read-published.ts'
import { readReleasedSkills } from '../../src/skills/read-released.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { makeApiToken, makeOrganization } from '../support/make.ts'
import { startSystem } from '../support/system.ts'

const AT = '/.well-known/agent-skills'
const { skills } = readPublishedSkills()
const released = readReleasedSkills()!
const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

let system: ListeningSystem
let token: string
beforeAll(async () => {
  system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service,console,site,mcp-server' })
  const org = await makeOrganization(system)
  token = (await makeApiToken(system, org, org.owner, { audiences: ['platform'] })).token
})
afterAll(() => system?.stop())

test('by HTTP each file has the digest of the newest release, and the index names a tag only where there is one', async () => {
  const index = (await (await fetch(`${system.origin}${AT}/index.json`)).json()) as {
    skills: { name: string; digest: string }[]
    _source: { ref: string | null }
  }
  expect([`v${released.version}`, null]).toContain(index._source.ref)
  expect(index.skills.map(({ name }) => name)).toEqual(released.skills.map(({ id }) => id))
  for (const { id, files, archive } of released.skills) {
    for (const { path, sha256: digest } of files) expect(sha256(await overHttp(`${id}/${path}`))).toBe(digest)
    if (archive) expect(`sha256:${sha256(await overHttp(`${id}.tar.gz`))}`).toBe(archive.digest)
  }
})

test('each file has one digest: in the bundle, over MCP and where it was installed', async () => {
  const project = await mkdtemp(join(tmpdir(), 'svc-installed-'))
  try {
    for (const skill of skills.filter(({ installable }) => installable)) {
      await applyPlan(await planInstall(skill, { cwd: project, home: project, user: false, agents: true }))
    }
    const files = skills.flatMap((skill) => skill.files.map((file) => ({ ...file, skill })))
    const seen = []
    // One after the other: at most 16 calls of a token are open at once.
    for (const { path, skill } of files) {
      const { id, installable } = skill
      const installed = (folder: string) => readFile(join(project, folder, 'skills', id, path))
      // An assistant has the tools and no client: the entry of `svc` over MCP is a text of its own.
      const isOwnOverMcp = id === 'svc' && path === 'SKILL.md'
      const places = await Promise.all([
        ...(isOwnOverMcp ? [] : [overMcp(`skill://${id}/${path}`)]),
        ...(installable ? [installed('.claude'), installed('.agents')] : []),
      ])
      seen.push([id, path, new Set(places.map(sha256))])
    }
    expect(seen).toEqual(files.map(({ path, sha256: digest, skill }) => [skill.id, path, new Set([digest])]))
  } finally {
    await rm(project, { recursive: true, force: true })
  }
})

const overHttp = async (path: string): Promise<Uint8Array> =>
  (await fetch(`${system.origin}${AT}/${path}`)).bytes()

async function overMcp(uri: string): Promise<string> {
  const answer = await fetch(`${system.origin}/platform`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } }),
  })
  const { result } = (await answer.json()) as { result: { contents: [{ text: string }] } }
  return result.contents[0].text
}

test('a client that asks for compression gets the archive as it is, and HEAD its length', async () => {
  const wire = (method: string) =>
    new Promise<{ headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
      const asked = request(`${system.origin}${AT}/svc.tar.gz`, {
        method,
        headers: { 'accept-encoding': 'gzip' },
      })
      asked.once('error', reject).once('response', (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.once('end', () => resolve({ headers: answer.headers, bytes: Buffer.concat(parts) }))
      })
      asked.end()
    })
  const { archive } = released.skills[0]!
  const got = await wire('GET')
  expect(got.bytes.equals(archive!.bytes)).toBe(true)
  const head = await wire('HEAD')
  expect(head.bytes.length).toBe(0)
  for (const { headers } of [got, head]) {
    expect(headers).toMatchObject({
      'content-length': String(archive!.bytes.length),
      'content-type': 'application/gzip',
    })
    expect(headers['content-encoding']).toBeUndefined()
  }
})

test('beside the skills every well-known path is still that of the MCP server, and the front that of the console', async () => {
  const probe = await fetch(`${system.origin}/.well-known/skills/index.json`)
  expect([probe.status, probe.headers.get('content-type')]).toEqual([404, 'application/json'])
  const metadata = await fetch(`${system.origin}/.well-known/oauth-protected-resource/platform`)
  expect(await metadata.json()).toMatchObject({ resource: `${system.origin}/platform` })
  const front = await fetch(system.origin, { redirect: 'manual' })
  expect(front.headers.get('location')).toBe('/console')
})

test('on hosts of their own the site has the skills and nothing else, and nobody else has them', async () => {
  const own = await startSystem({ BASE_DOMAIN: 'example.com', SITE_URL: 'https://example.com' })
  try {
    const dispatch = dispatcher(own.system)
    const status = async (url: string) => (await dispatch(new Request(url))).status
    expect(await status(`https://example.com${AT}/index.json`)).toBe(200)
    expect(await status('https://example.com/')).toBe(302)
    expect(await status('https://example.com/console')).toBe(404)
    expect(await status('https://example.com/api/v1/me')).toBe(404)
    for (const host of ['app', 'api', 'auth', 'mcp']) {
      expect(await status(`https://${host}.example.com${AT}/index.json`), host).toBe(404)
    }
    expect(await status(`https://www.example.com${AT}/index.json`)).toBe(421)
  } finally {
    await own.stop()
  }
})
