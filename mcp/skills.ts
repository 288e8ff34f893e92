/**
 * The skills of this release over MCP (SEP-2640): the bytes that the client installs and the site publishes, except for
 * the entry of `svc`, which begins with the tools instead of the client.
 */
import { ProtocolError, ProtocolErrorCode, type McpServer } from '@modelcontextprotocol/server'
import {
  DIRECTORY_MIME_TYPE,
  SkillsExtension,
  type Skill,
  type SkillSource,
} from '@modelcontextprotocol/server/ext/skills'
import type { PublishedSkill } from '../src/skills/bundle.ts'

const MARKDOWN = 'text/markdown'

/** They change only with a release and are the same for everybody. */
const CACHED = { ttlMs: 5 * 60_000, cacheScope: 'public' } as const

export function registerSkills(server: McpServer, skills: readonly PublishedSkill[]): void {
  const source = sources.get(skills) ?? sourceOf(skills)
  sources.set(skills, source)
  new SkillsExtension({ source, cacheHint: CACHED, strict: true }).attach(server)
}

/** Made once: a server is made for every request. */
const sources = new WeakMap<readonly PublishedSkill[], SkillSource>()

/** URIs are looked up among the known ones, never turned into a path. */
function sourceOf(skills: readonly PublishedSkill[]): SkillSource {
  const files = skills.flatMap(filesOf)
  return {
    list: async () => ({ skills: skills.map(entryOf) }),
    async get(uri) {
      const skill = skills.find(({ id }) => uriOf(id, 'SKILL.md') === uri)
      return skill ? entryOf(skill) : notFound()
    },
    async read(uri) {
      const { bytes } = files.find((file) => file.uri === uri) ?? notFound()
      return { text: Buffer.from(bytes).toString('utf8'), mimeType: MARKDOWN }
    },
    async readDirectory(uri) {
      const folder = `${uri.replace(/\/$/, '')}/`
      const inside = files
        .filter((file) => file.uri.startsWith(folder))
        .map((file) => file.uri.slice(folder.length))
      const names = [...new Set(inside.map((path) => path.split('/', 1)[0]!))]
      if (names.length === 0 || folder === 'skill://') notFound()
      return {
        resources: names.map((name) => ({
          uri: folder + name,
          name,
          mimeType: inside.includes(name) ? MARKDOWN : DIRECTORY_MIME_TYPE,
        })),
      }
    },
    // Entries only: each lists its references and says when to read them.
    listResources: async () =>
      skills.map(({ id, description }) => ({
        uri: uriOf(id, 'SKILL.md'),
        name: id,
        description,
        mimeType: MARKDOWN,
      })),
  }
}

const entryOf = (skill: PublishedSkill): Skill => ({
  uri: uriOf(skill.id, 'SKILL.md'),
  frontmatter: skill.frontmatter,
  resources: filesOf(skill).map(({ uri, sha256, bytes }) => ({
    uri,
    digest: `sha256:${sha256}`,
    size: bytes.length,
  })),
})

const filesOf = ({ id, files }: PublishedSkill) =>
  files.map((file) => ({ ...file, uri: uriOf(id, file.path) }))

const uriOf = (id: string, path: string): string => `skill://${id}/${path}`

/** Does not repeat the requested URI, which a model would read. */
function notFound(): never {
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'No such skill or file. Call skills/list to see them.',
  )
}
