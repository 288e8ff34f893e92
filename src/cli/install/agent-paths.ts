/** The paths where coding agents look for skills and instructions, in a project and in the home directory. */

type AgentPath = { readonly project: string; readonly user: string }

/** Codex, Gemini, Copilot and most others read it. */
export const COMMON: AgentPath = { project: '.agents/skills', user: '.agents/skills' }

/** Reads no other. */
export const CLAUDE: AgentPath = { project: '.claude/skills', user: '.claude/skills' }

/**
 * What an agent leaves in a project or a home directory where it is used. Where neither of the two is found, both are
 * written for: nobody has worked there yet.
 */
export const SIGNS = {
  claude: { project: ['.claude', 'CLAUDE.md'], home: '.claude' },
  gemini: { project: ['.gemini', 'GEMINI.md'], home: '.gemini' },
} as const

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

/** Most agents read the first. */
export const PROJECT_INSTRUCTIONS = { common: 'AGENTS.md', gemini: 'GEMINI.md' } as const

/** In the home directory each agent has its own folder; written only where it exists. */
export const USER_INSTRUCTIONS = ['.codex/AGENTS.md', '.gemini/GEMINI.md'] as const
