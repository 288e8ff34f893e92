/** The skills of this product, once built: the same bytes for the client, HTTP and MCP. */

/** Text with LF; `path` such as `references/databases.md`. */
export type SkillFile = { readonly path: string; readonly bytes: Uint8Array; readonly sha256: string }

export type Skill = {
  readonly id: string
  /** The same bytes as in the frontmatter. */
  readonly description: string
  /** `svc-faq` is read over HTTP and never written into a project. */
  readonly installable: boolean
  readonly version: string
  /** SKILL.md first. */
  readonly files: readonly SkillFile[]
  /** .tar.gz, only where there is more than one file; `digest` is `sha256:<hex>`. */
  readonly archive?: { readonly bytes: Uint8Array; readonly digest: string }
  /** sha256 of every released content of a path (with LF), to tell an older release from an edited file. */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>
  /** The text between the markers in AGENTS.md and GEMINI.md; see `blockFor`. */
  readonly agentsBlock: { readonly body: string; readonly known: ReadonlySet<string> }
}

export type SkillBundle = { readonly version: string; readonly skills: readonly Skill[] }

/** The frontmatter of SKILL.md as data. */
export type Frontmatter = Readonly<Record<string, unknown>> & {
  readonly name: string
  readonly description: string
}
export type PublishedSkill = Skill & { readonly frontmatter: Frontmatter }
export type PublishedBundle = { readonly version: string; readonly skills: readonly PublishedSkill[] }

/** Where a skill is installed: in the project, or in the home directory. */
export const INSTALL_SCOPES = ['project', 'user'] as const
export type InstallScope = (typeof INSTALL_SCOPES)[number]

/** The body of the block for a scope: only the path to the skill differs. The digests of both are in `known`. */
export const blockFor = (body: string, scope: InstallScope): string =>
  scope === 'project' ? body : body.replaceAll('`.agents/skills/', '`~/.agents/skills/')
