/** `svc --skill-prompt`: SKILL.md as one text for a model that has only the client. */
import type { SkillBundle } from './bundle.ts'
import { readPublishedSkills } from './read-published.ts'

/** The same text as SKILL.md, with commands instead of links to the references. */
export function skillPrompt({ version, skills }: SkillBundle = readPublishedSkills()): string {
  const entry = skills.find(({ id }) => id === 'svc')?.files.find(({ path }) => path === 'SKILL.md')
  if (!entry) throw new Error('the bundle holds no skill svc')
  const body = Buffer.from(entry.bytes)
    .toString('utf8')
    .replace(/^---\n[^]*?\n---\n+/, '')
    .replace('| Read | When |\n|---|---|\n', 'Print one with `svc skills show svc references/<name>.md`:\n\n')
    .replaceAll(/^\| \[([\w-]+)\]\(references\/\1\.md\) \| (.+) \|$/gm, '- $1: $2')
  return `You can use the command line client svc ${version}. These are its instructions for you.\n\n${body}`
}
