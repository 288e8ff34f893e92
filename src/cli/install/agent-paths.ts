/** The paths where coding agents look for skills and instructions, in a project and in the home directory. */

type AgentPath = { readonly project: string; readonly user: string }

/** Claude Code reads only the first, Codex and Gemini only the second, and most others one of the two. */
export const ALWAYS_INSTALLED: readonly AgentPath[] = [
  { project: '.claude/skills', user: '.claude/skills' },
  { project: '.agents/skills', user: '.agents/skills' },
]

/** Agents with a folder of their own: installed only where that agent is used. */
export const IF_AGENT_IS_USED: readonly AgentPath[] = [
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

/** In the home directory each agent has its own folder; written only where it exists. */
export const USER_INSTRUCTIONS = ['.codex/AGENTS.md', '.gemini/GEMINI.md'] as const
