/** Decides what an install does with each file, from what was read: no file system, no clock. */
import { blockFor, type InstallScope, type Skill, type SkillFile } from '../../skills/bundle.ts'
import { bytesOf, encoded, isOneOf, textOf, withFormatOf, withLineFeeds } from './file-text.ts'
import { findBlock, trimmed, withBody, withNewBlock } from './marker-block.ts'
import type { Found } from './read-existing-file.ts'

export type Decision =
  /** `add`: appends our block to a file of the user's. */
  | { readonly action: 'create' | 'update' | 'add'; readonly after: Buffer }
  | { readonly action: 'leave' }
  /** A file of an earlier release that is no longer part of the skill. */
  | { readonly action: 'remove' }
  /** Edited by somebody: overwritten only with --force. */
  | { readonly action: 'refuse'; readonly why: string; readonly after: Buffer }
  /** Cannot be written, or its content is ambiguous: not even with --force. */
  | { readonly action: 'block'; readonly why: string }

export type Step = {
  /** For messages: relative to the root, with slashes. */
  readonly shown: string
  /** Relative to the skill's folder; for AGENTS.md and GEMINI.md the same as `shown`. */
  readonly path: string
  readonly real: string
  readonly found: Found
  readonly decision: Decision
  /** Of the bundled content. */
  readonly sha256?: string
}

export type Target = {
  /** Relative to the root. */
  readonly dir: string
  /** Paths that are links to it. */
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

/** SKILL.md refers to its references, so it is written after them, and the blocks that name it after that. */
export const inOrder = ({ targets, instructions }: Plan): Step[] => [
  ...targets.flatMap(({ steps }) => [
    ...steps.filter(({ path }) => path !== 'SKILL.md'),
    ...steps.filter(({ path }) => path === 'SKILL.md'),
  ]),
  ...instructions,
]

const UNKNOWN = 'was edited, or written by a newer version of svc'

export function decideFile(file: SkillFile, known: ReadonlySet<string>, found: Found): Decision {
  if (found.is === 'blocked') return { action: 'block', why: found.why }
  if (found.is === 'missing') return { action: 'create', after: Buffer.from(file.bytes) }
  const old = textOf(found.bytes)
  if (isOneOf(new Set([file.sha256]), old)) return { action: 'leave' }
  const after = bytesOf(withFormatOf(old, textOf(file.bytes)))
  return isOneOf(known, old) ? { action: 'update', after } : { action: 'refuse', why: UNKNOWN, after }
}

/** For a file that only earlier releases had. It stays when it was edited or is not a file. */
export const decideRemovedFile = (known: ReadonlySet<string>, found: Found): Decision => ({
  action: found.is === 'file' && isOneOf(known, textOf(found.bytes)) ? 'remove' : 'leave',
})

export function decideBlock(skill: Skill, scope: InstallScope, found: Found): Decision {
  const body = blockFor(skill.agentsBlock.body, scope)
  if (found.is === 'blocked') return { action: 'block', why: found.why }
  if (found.is === 'missing') return { action: 'create', after: bytesOf(withNewBlock('', skill.id, body)) }
  const old = textOf(found.bytes)
  if (isWide(old)) {
    return { action: 'block', why: 'is not UTF-8 text: save it as UTF-8, or use --no-agents' }
  }
  const block = findBlock(old, skill.id)
  if (block.is === 'damaged') return { action: 'block', why: block.why }
  if (block.is === 'absent') return { action: 'add', after: bytesOf(withNewBlock(old, skill.id, body)) }
  const present = trimmed(withLineFeeds(old.slice(block.from, block.to)))
  if (present === encoded(trimmed(body))) return { action: 'leave' }
  const after = bytesOf(withBody(old, block, body))
  return isOneOf(skill.agentsBlock.known, present)
    ? { action: 'update', after }
    : { action: 'refuse', why: `has a block that ${UNKNOWN}`, after }
}

/** UTF-16 and UTF-32: a block in UTF-8 would make the rest unreadable. */
const isWide = (text: string): boolean => /^(\u00ff\u00fe|\u00fe\u00ff)/.test(text) || text.includes('\0')

/** Links can make two files the same file: neither is written then, because the second would undo the first. */
export function withoutCollisions(plan: Plan): Plan {
  const contents = new Map<string, Buffer | undefined>()
  const collisions = new Set<string>()
  for (const { real, found, decision } of inOrder(plan)) {
    const content = contentAfter(found, decision)
    if (!contents.has(real)) contents.set(real, content)
    else if (!isSameContent(contents.get(real), content)) collisions.add(real)
  }
  const checked = <S extends Step>(step: S): S =>
    collisions.has(step.real)
      ? {
          ...step,
          decision: { action: 'block', why: 'is linked to another file that svc writes' },
        }
      : step
  return {
    ...plan,
    targets: plan.targets.map((target) => ({ ...target, steps: target.steps.map(checked) })),
    instructions: plan.instructions.map(checked),
  }
}

function contentAfter(found: Found, decision: Decision): Buffer | undefined {
  if ('after' in decision) return decision.after
  return found.is === 'file' && decision.action !== 'remove' ? found.bytes : undefined
}

const isSameContent = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
  one === undefined || other === undefined ? one === other : one.equals(other)
