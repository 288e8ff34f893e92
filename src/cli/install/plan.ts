/** What an install would do, file by file, decided from what was read: no disk, no clock. */
import { blockFor, type BlockPlace, type Skill, type SkillFile } from '../../skills/bundle.ts'
import { bytesOf, dressedLike, encoded, isOneOf, textOf, withLineFeeds } from './content.ts'
import { findBlock, trimmed, withBody, withNewBlock } from './marker-block.ts'
import type { Found } from './read-place.ts'

export type Verdict =
  /** `add`: our block to a file of the user's that had none. */
  | { readonly will: 'create' | 'update' | 'add'; readonly after: Buffer }
  | { readonly will: 'leave' }
  /** Of an earlier release, and no longer part of the skill. */
  | { readonly will: 'remove' }
  /** Somebody's work: overwritten only when told to. */
  | { readonly will: 'refuse'; readonly why: string; readonly after: Buffer }
  /** Cannot be written, or could only be guessed at: not even when told to. */
  | { readonly will: 'block'; readonly why: string }

export type Step = {
  /** As people are told it: from the root, with slashes. */
  readonly shown: string
  /** Inside the skill's folder; of AGENTS.md and GEMINI.md the same as `shown`. */
  readonly path: string
  readonly real: string
  readonly found: Found
  readonly verdict: Verdict
  /** Of the bundled content. */
  readonly sha256?: string
}

export type Target = {
  /** From the root. */
  readonly dir: string
  /** Other ways to the same place, which are links. */
  readonly links: readonly string[]
  readonly steps: readonly Step[]
}

/** AGENTS.md or GEMINI.md. */
export type Instructions = Step & { readonly links: readonly string[] }

export type Plan = {
  readonly id: string
  readonly version: string
  readonly root: string
  readonly targets: readonly Target[]
  readonly instructions: readonly Instructions[]
}

/** A SKILL.md that is there promises its references: it comes last, and the blocks that name it later still. */
export const inOrder = ({ targets, instructions }: Plan): Step[] => [
  ...targets.flatMap(({ steps }) => [
    ...steps.filter(({ path }) => path !== 'SKILL.md'),
    ...steps.filter(({ path }) => path === 'SKILL.md'),
  ]),
  ...instructions,
]

const UNKNOWN = 'differs from every version this svc knows (edited, or written by a newer svc)'

export function decideFile(file: SkillFile, known: ReadonlySet<string>, found: Found): Verdict {
  if (found.is === 'blocked') return { will: 'block', why: found.why }
  if (found.is === 'missing') return { will: 'create', after: Buffer.from(file.bytes) }
  const old = textOf(found.bytes)
  if (isOneOf(new Set([file.sha256]), old)) return { will: 'leave' }
  const after = bytesOf(dressedLike(old, textOf(file.bytes)))
  return isOneOf(known, old) ? { will: 'update', after } : { will: 'refuse', why: UNKNOWN, after }
}

/** A file that only earlier releases had. An edited one stays, and so does whatever is not a file. */
export const decideGone = (known: ReadonlySet<string>, found: Found): Verdict => ({
  will: found.is === 'file' && isOneOf(known, textOf(found.bytes)) ? 'remove' : 'leave',
})

export function decideBlock(skill: Skill, place: BlockPlace, found: Found): Verdict {
  const body = blockFor(skill.agentsBlock.body, place)
  if (found.is === 'blocked') return { will: 'block', why: found.why }
  if (found.is === 'missing') return { will: 'create', after: bytesOf(withNewBlock('', skill.id, body)) }
  const old = textOf(found.bytes)
  if (isWide(old)) {
    return { will: 'block', why: 'is not UTF-8 text: save it as UTF-8, or use --no-agents' }
  }
  const block = findBlock(old, skill.id)
  if (block.is === 'damaged') return { will: 'block', why: block.why }
  if (block.is === 'absent') return { will: 'add', after: bytesOf(withNewBlock(old, skill.id, body)) }
  const present = trimmed(withLineFeeds(old.slice(block.from, block.to)))
  if (present === encoded(trimmed(body))) return { will: 'leave' }
  const after = bytesOf(withBody(old, block, body))
  return isOneOf(skill.agentsBlock.known, present)
    ? { will: 'update', after }
    : { will: 'refuse', why: `has a block that ${UNKNOWN}`, after }
}

/** UTF-16 and UTF-32: a block in UTF-8 would make the rest unreadable. */
const isWide = (text: string): boolean => /^(\u00ff\u00fe|\u00fe\u00ff)/.test(text) || text.includes('\0')

/** Links can make two different files one: neither is written then, because the second would undo the first. */
export function withoutCollisions(plan: Plan): Plan {
  const wanted = new Map<string, Buffer | undefined>()
  const collisions = new Set<string>()
  for (const { real, found, verdict } of inOrder(plan)) {
    const content = contentAfter(found, verdict)
    if (!wanted.has(real)) wanted.set(real, content)
    else if (!isSameContent(wanted.get(real), content)) collisions.add(real)
  }
  const checked = <S extends Step>(step: S): S =>
    collisions.has(step.real)
      ? {
          ...step,
          verdict: { will: 'block', why: 'is, by a link, the same file as another that svc writes' },
        }
      : step
  return {
    ...plan,
    targets: plan.targets.map((target) => ({ ...target, steps: target.steps.map(checked) })),
    instructions: plan.instructions.map(checked),
  }
}

function contentAfter(found: Found, verdict: Verdict): Buffer | undefined {
  if ('after' in verdict) return verdict.after
  return found.is === 'file' && verdict.will !== 'remove' ? found.bytes : undefined
}

const isSameContent = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
  one === undefined || other === undefined ? one === other : one.equals(other)
