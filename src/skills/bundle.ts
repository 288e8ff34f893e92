/** What the skills of this product are made of, once built: the same bytes for the client, HTTP and MCP. */

/** Text with LF; `path` such as `references/databases.md`. */
export type SkillFile = { readonly path: string; readonly bytes: Uint8Array; readonly sha256: string }

export type Skill = {
  readonly id: string
  /** Byte for byte that of the frontmatter. */
  readonly description: string
  /** `svc-faq` is read over HTTP and never written into a project. */
  readonly installable: boolean
  readonly version: string
  /** SKILL.md first. */
  readonly files: readonly SkillFile[]
  /** .tar.gz, only where there is more than one file; `digest` is `sha256:<hex>`. */
  readonly archive?: { readonly bytes: Uint8Array; readonly digest: string }
  /** sha256 of every released content of a path (with LF), so that "ours, from before" can be told from "edited". */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>
  /** What stands between the markers in AGENTS.md and GEMINI.md; see `blockFor`. */
  readonly agentsBlock: { readonly body: string; readonly known: ReadonlySet<string> }
}

export type SkillBundle = { readonly version: string; readonly skills: readonly Skill[] }

/** What only readers of the published form need: the frontmatter of SKILL.md as data. */
export type Frontmatter = Readonly<Record<string, unknown>> & {
  readonly name: string
  readonly description: string
}
export type PublishedSkill = Skill & { readonly frontmatter: Frontmatter }
export type PublishedBundle = { readonly version: string; readonly skills: readonly PublishedSkill[] }

/** Where agents find the skill: in the project, or under the home directory of a person. */
export const BLOCK_PLACES = ['project', 'user'] as const
export type BlockPlace = (typeof BLOCK_PLACES)[number]

/** The body of the block as it is written at a place: only the way to the skill differs. Both are among `known`. */
export const blockFor = (body: string, place: BlockPlace): string =>
  place === 'project' ? body : body.replaceAll('`.agents/skills/', '`~/.agents/skills/')
