/** Where coding agents look for skills and for standing instructions, in a project and in a home directory. */

type Place = { readonly project: string; readonly user: string }

/** Claude Code reads only the first, Codex and Gemini only the second, and most others one of the two. */
export const ALWAYS: readonly Place[] = [
  { project: '.claude/skills', user: '.claude/skills' },
  { project: '.agents/skills', user: '.agents/skills' },
]

/** Agents that read a folder of their own: served where that agent has been at work, so that nobody gets clutter. */
export const WHERE_USED: readonly Place[] = [
  { project: '.windsurf/skills', user: '.codeium/windsurf/skills' },
  { project: '.goose/skills', user: '.config/goose/skills' },
  { project: '.kiro/skills', user: '.kiro/skills' },
  { project: '.roo/skills', user: '.roo/skills' },
  { project: '.junie/skills', user: '.junie/skills' },
  { project: '.continue/skills', user: '.continue/skills' },
  { project: '.augment/skills', user: '.augment/skills' },
  { project: '.qwen/skills', user: '.qwen/skills' },
]

export const PROJECT_INSTRUCTIONS = ['AGENTS.md', 'GEMINI.md'] as const

/** At home these are read where each agent keeps its own, and only by somebody who has that agent. */
export const USER_INSTRUCTIONS = ['.codex/AGENTS.md', '.gemini/GEMINI.md'] as const
