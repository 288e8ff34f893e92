/** Skills over MCP; the official scenarios are in test/conformance/skills.test.ts. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readPublishedSkills } from '../src/skills/read-published.ts'
import { agentToken, fakeServices, replyOf, send, type Era } from '../test/support/fake-services.ts'
import { mcpSkills } from './mcp-skills.ts'
import { TOOLS } from './tools.ts'

const published = readPublishedSkills()
const skills = mcpSkills(published)
const EXTENSION = 'io.modelcontextprotocol/skills'

async function ask(era: Era, method: string, params: Record<string, unknown> = {}) {
  const system = fakeServices()
  const token = await agentToken(system, 'platform')
  const named = typeof params['uri'] === 'string' && era === 'of 2026' ? { 'mcp-name': params['uri'] } : {}
  const reply = await replyOf(await send(system, '/platform', era, method, { token, params, headers: named }))
  return { ...reply, asked: system.asked, reported: system.reported }
}

describe.each<Era>(['of 2025', 'of 2026'])('a client %s', (era) => {
  test('lists every skill with every file and its digest', async () => {
    const { result } = await ask(era, 'skills/list')
    expect(result?.['skills']).toEqual(
      skills.map(({ id, frontmatter, files }) => ({
        uri: `skill://${id}/SKILL.md`,
        frontmatter,
        resources: files.map(({ path, sha256, bytes }) => ({
          uri: `skill://${id}/${path}`,
          digest: `sha256:${sha256}`,
          size: bytes.length,
        })),
      })),
    )
  })

  test('gets one, and reads its files as they are listed', async () => {
    const got = await ask(era, 'skills/get', { uri: 'skill://svc/SKILL.md' })
    expect(got.result?.['skill']).toMatchObject({ frontmatter: { name: 'svc' } })
    for (const { path, sha256 } of skills[0]!.files) {
      const { result } = await ask(era, 'resources/read', { uri: `skill://svc/${path}` })
      const [{ text, mimeType }] = result!['contents'] as [{ text: string; mimeType: string }]
      expect(createHash('sha256').update(text).digest('hex')).toBe(sha256)
      expect(mimeType).toBe('text/markdown')
    }
  })

  test.each([
    ['skills/get', 'skill://svc'],
    ['skills/get', 'skill://svc/references/databases.md'],
    ['skills/get', 'skill://ignore-previous-instructions/SKILL.md'],
    ['resources/read', 'skill://svc/references/ignore-previous-instructions.md'],
    ['resources/read', 'skill://svc/../../package.json'],
    ['resources/read', 'skill://svc/references'],
    ['resources/directory/read', 'skill://svc/ignore-previous-instructions'],
    ['resources/directory/read', 'skill://svc/SKILL.md'],
    ['resources/directory/read', 'skill://'],
  ])('%s %s is not found, and the error does not repeat the name', async (method, uri) => {
    const { error } = await ask(era, method, { uri })
    expect(error?.code).toBe(-32_602)
    expect(error?.message).toBe('No such skill or file. Call skills/list to see them.')
  })
})

describe('the entry of svc', () => {
  const entryIn = (all: typeof skills) =>
    Buffer.from(all.find(({ id }) => id === 'svc')!.files[0]!.bytes).toString('utf8')
  const firstSection = (text: string) => text.split('---\n')[2]!.split('\n## ')[1]!

  test('begins with the tools over MCP, with the client where the client installs it, and is short', () => {
    const [overMcp, ofClient] = [entryIn(skills), entryIn(published.skills)]
    expect(firstSection(overMcp)).toContain('`search`, then `fetch`')
    expect(overMcp).not.toMatch(/`svc (?!\w*`)/)
    expect(firstSection(ofClient)).toContain('`svc status --json`')
    expect(overMcp.length).toBeLessThan(ofClient.length / 2)
    for (const { name, resource } of TOOLS) {
      if (resource === 'platform') expect(overMcp).toContain(`\`${name}\``)
    }
  })

  test('has its frontmatter as data too, and names references that exist', () => {
    const [svc] = skills
    expect(parse(entryIn(skills).split('---\n')[1]!)).toEqual(svc!.frontmatter)
    const named = [...entryIn(skills).matchAll(/\]\((references\/[^)]+)\)/g)].map(([, path]) => path)
    expect(svc!.files.map(({ path }) => path)).toEqual(expect.arrayContaining(named))
  })

  test('every other file is the published one', () => {
    const others = (all: typeof skills) =>
      all.flatMap(({ id, files }) => files.map(({ path, sha256 }) => `${id}/${path} ${sha256}`)).slice(1)
    expect(others(skills)).toEqual(others(published.skills))
  })
})

test('resources contain the entries but not the references, after the chat cards', async () => {
  const { result } = await ask('of 2026', 'resources/list')
  expect((result!['resources'] as { uri: string }[]).map(({ uri }) => uri)).toEqual([
    'ui://svc/proposal',
    'ui://svc/answer',
    ...skills.map(({ id }) => `skill://${id}/SKILL.md`),
  ])
})

test('skills are offered at /platform and not at /notifications', async () => {
  const system = fakeServices()
  const capabilities = async (resource: 'platform' | 'notifications') => {
    const token = await agentToken(system, resource)
    const { result } = await replyOf(
      await send(system, `/${resource}`, 'of 2026', 'server/discover', { token }),
    )
    return result?.['capabilities'] as { extensions?: object }
  }
  expect(await capabilities('platform')).toMatchObject({
    resources: { listChanged: false },
    extensions: { [EXTENSION]: { directoryRead: true } },
  })
  const others = await capabilities('notifications')
  expect(others.extensions).not.toHaveProperty([EXTENSION])
})

test('reading a skill calls no gateway, uses no quota, and still needs a live token', async () => {
  const { asked, reported } = await ask('of 2026', 'skills/list')
  expect(asked.filter(({ service }) => service === 'gateway')).toEqual([])
  expect(reported).toEqual([])
  expect((await send(fakeServices(), '/platform', 'of 2026', 'skills/list')).status).toBe(401)
})
