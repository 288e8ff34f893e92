/** A skill of three files with an earlier release behind it, small enough to install a thousand times. */
import { createHash } from 'node:crypto'
import { blockFor, INSTALL_SCOPES, type Skill } from '../../src/skills/bundle.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** By path; `references/gone.md` is no longer part of the skill. */
export const EARLIER = {
  'SKILL.md': '---\nname: toy\n---\nOld words, naïve.\n',
  'references/one.md': '# One\n\nOld.\n',
  'references/two.md': '# Two\n',
  'references/gone.md': '# Gone\n\nOnce needed.\n',
} as const
export const CURRENT = {
  'SKILL.md': '---\nname: toy\n---\nNew words, naïve.\nAnd a second line.\n',
  'references/one.md': '# One\n\nNew.\n',
  'references/two.md': '# Two\n\nMore.\n',
} as const

export const EARLIER_BODY = 'Use toy. Read `.agents/skills/toy/SKILL.md`.\n'
export const CURRENT_BODY = '## Toy\n\nUse toy, naïvely. Read `.agents/skills/toy/SKILL.md` first.\n'

export const toySkill = (id = 'toy'): Skill => ({
  id,
  description: 'A toy.',
  installable: true,
  version: '2.0.0',
  files: Object.entries(CURRENT).map(([path, text]) => ({
    path,
    bytes: Buffer.from(text),
    sha256: sha256(text),
  })),
  known: new Map(Object.entries(EARLIER).map(([path, text]) => [path, new Set([sha256(text)])])),
  agentsBlock: {
    body: CURRENT_BODY,
    known: new Set(INSTALL_SCOPES.map((scope) => sha256(blockFor(EARLIER_BODY, scope)))),
  },
})
