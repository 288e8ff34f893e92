/** Which tools a caller has. By role, scope and address only: the same caller finds the same list in the same order. */
import { atLeast, type Role } from '../src/contracts/roles.ts'
import type { Resource, Scope } from '../src/contracts/scopes.ts'
import type { Narrowing } from './narrowing.ts'
import type { Tool } from './tool.ts'

export type Chooser = {
  readonly role: Role
  readonly scopes: readonly Scope[]
  /** Came with a grant, and can ask its person for more. */
  readonly canStepUp: boolean
}

export type Hidden = { readonly tool: string; readonly why: string }

export type Choice = {
  readonly listed: readonly Tool[]
  /** Listed, or missing nothing but a scope: who calls one of these is told which. All others are unknown. */
  readonly callable: readonly Tool[]
  readonly hidden: readonly Hidden[]
}

export function chooseTools(
  table: readonly Tool[],
  resource: Resource,
  who: Chooser,
  narrowing: Narrowing,
): Choice {
  const listed: Tool[] = []
  const callable: Tool[] = []
  const hidden: Hidden[] = []
  for (const tool of table) {
    if (tool.resource !== resource) continue
    const why = whyUnknown(tool, who, narrowing) ?? whyUnlisted(tool, who)
    if (why === undefined) listed.push(tool)
    else hidden.push({ tool: tool.name, why })
    if (whyUnknown(tool, who, narrowing) === undefined) callable.push(tool)
  }
  return { listed, callable, hidden }
}

export const missingScopes = (tool: Tool, scopes: readonly Scope[]): Scope[] =>
  tool.scopes.filter((scope) => !scopes.includes(scope))

function whyUnknown(tool: Tool, { role }: Chooser, { readOnly, tools }: Narrowing): string | undefined {
  if (!atLeast(role, tool.minimumRole)) return `needs the role ${tool.minimumRole}`
  if (readOnly && !tool.isReadOnly) return 'left out by ?readonly= of the address'
  if (tools && !tools.has(tool.name)) return 'left out by ?tools= of the address'
  return undefined
}

/** Shown to who can step up: a tool that is not listed is never called, and so nobody would ever be asked. */
function whyUnlisted(tool: Tool, { scopes, canStepUp }: Chooser): string | undefined {
  const missing = canStepUp ? [] : missingScopes(tool, scopes)
  return missing.length === 0 ? undefined : `needs the scope ${missing.join(' ')}`
}
