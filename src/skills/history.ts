/** skills/history.json: what every release contained, so that an installed file can be distinguished from an edited one. */
export type History = { readonly releases: readonly Release[] }

/** The newest is the last. */
export type Release = {
  readonly version: string
  readonly skills: Readonly<Record<string, ReleasedSkill>>
}

export type ReleasedSkill = {
  /** By path, the sha256 of the content. */
  readonly files: Readonly<Record<string, string>>
  /** Of the texts in AGENTS.md and GEMINI.md. None: it is never installed. */
  readonly blocks: readonly string[]
}
