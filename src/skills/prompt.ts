/** `svc --skill-prompt`: the entry of the skill as one text for a model that has nothing but the client. */
import type { SkillBundle } from './bundle.ts'

/** The same words as SKILL.md; only the ways to more are commands instead of files. */
export function skillPrompt({ version, skills }: SkillBundle): string {
  const entry = skills.find(({ id }) => id === 'svc')?.files.find(({ path }) => path === 'SKILL.md')
  if (!entry) throw new Error('the bundle holds no skill svc')
  const body = Buffer.from(entry.bytes)
    .toString('utf8')
    .replace(/^---\n[^]*?\n---\n+/, '')
  return [
    `You can use the command line client svc ${version}. These are its instructions for you.`,
    '',
    body.trim().replaceAll(/\[[\w-]+\]\((references\/[\w-]+\.md)\)/g, '`$1`'),
    '',
    'Print a reference: `svc skills show svc <file>`. Every command explains itself with `--help`.',
    '',
  ].join('\n')
}
