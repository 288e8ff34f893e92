/** The skills of this release over MCP (SEP-2640): the very bytes that the client installs and the site publishes. */
import { ProtocolError, ProtocolErrorCode, type McpServer } from '@modelcontextprotocol/server'
import { SkillsExtension, type Skill, type SkillSource } from '@modelcontextprotocol/server/ext/skills'
import type { PublishedBundle, PublishedSkill } from '../src/skills/bundle.ts'

const MARKDOWN = 'text/markdown'

/** They change with a release only, and are the same for everybody. */
const CACHED = { ttlMs: 5 * 60_000, cacheScope: 'public' } as const

export function offerSkills(server: McpServer, bundle: PublishedBundle): void {
  new SkillsExtension({ source: sourceOf(bundle), cacheHint: CACHED, strict: true }).attach(server)
}

function sourceOf({ skills }: PublishedBundle): SkillSource {
  const entries = skills.map(entryOf)
  return {
    list: async () => ({ skills: entries }),
    get: async (uri) => entries.find((entry) => entry.uri === uri) ?? unknown(),
    async read(uri) {
      const file = skills.flatMap(filesOf).find((one) => one.uri === uri) ?? unknown()
      return { text: Buffer.from(file.bytes).toString('utf8'), mimeType: MARKDOWN }
    },
    // The entries only: who wants a reference finds its name there.
    listResources: async () =>
      skills.map(({ id, description, files }) => ({
        uri: uriOf(id, 'SKILL.md'),
        name: id,
        description,
        mimeType: MARKDOWN,
        size: files[0]!.bytes.length,
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

/** In our words, not in the caller's, which would come back before a model. */
function unknown(): never {
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'No such skill or file. skills/list names those there are.',
  )
}
