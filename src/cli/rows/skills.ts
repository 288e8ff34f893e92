/** `svc skills …`: what is bundled with the client. */
import type { Argument, HandWritten, Option } from '../command.ts'

const SKILL: Argument = { name: 'id', summary: 'From `svc skills list`', values: 'skills' }
const USER: Option = { long: 'user', summary: 'Use the home directory instead of this project' }

export const SKILL_ROWS: readonly HandWritten[] = [
  {
    path: 'skills list',
    summary: 'List bundled skills',
    examples: ['svc skills list'],
    load: async () => (await import('../commands/skills.ts')).listSkills,
  },
  {
    path: 'skills install',
    summary: 'Install a skill for coding agents; edited files are kept',
    arguments: [SKILL],
    options: [
      USER,
      { long: 'force', summary: 'Overwrite edited files' },
      { long: 'no-agents', summary: 'Do not write AGENTS.md and GEMINI.md' },
      { long: 'dry-run', summary: 'Show what would be written, without writing it' },
    ],
    examples: ['svc skills install svc', 'svc skills install svc --user --dry-run'],
    load: async () => (await import('../commands/skills.ts')).installSkill,
  },
  {
    path: 'skills show',
    summary: 'Print a skill or one of its files',
    arguments: [
      SKILL,
      {
        name: 'file',
        summary: 'File path, such as references/databases.md (default SKILL.md)',
        optional: true,
      },
    ],
    examples: ['svc skills show svc', 'svc skills show svc references/databases.md'],
    load: async () => (await import('../commands/skills.ts')).showSkill,
  },
  {
    path: 'skills status',
    summary: 'Show whether installed skills are up to date; exits 6 if not',
    arguments: [{ ...SKILL, optional: true }],
    options: [USER, { long: 'no-agents', summary: 'Do not check AGENTS.md and GEMINI.md' }],
    examples: ['svc skills status', 'svc skills status svc --user --json'],
    load: async () => (await import('../commands/skills.ts')).skillStatus,
  },
]
