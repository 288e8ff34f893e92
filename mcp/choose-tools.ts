/** Which tools a principal has. By role, scopes and URL only: the same principal gets the same list in the same order. */
import { ServiceError } from '../src/contracts/errors.ts'
import { hasRoleFor, missingScopes } from '../src/contracts/mcp-tools.ts'
import type { Resource } from '../src/contracts/scopes.ts'
import type { McpPrincipal } from './authenticate.ts'
import type { HiddenTool, Narrowing, Tool } from './tool.ts'

export type Rights = Pick<McpPrincipal, 'role' | 'obtainableScopes'>

export type ToolChoice = {
  readonly listed: readonly Tool[]
  /** Listed, or missing only a scope: a call is told which. All others do not exist for this principal. */
  readonly callable: readonly Tool[]
  readonly hidden: readonly HiddenTool[]
}

export function chooseTools(
  table: readonly Tool[],
  resource: Resource,
  principal: Rights,
  narrowing: Narrowing,
): ToolChoice {
  const listed: Tool[] = []
  const callable: Tool[] = []
  const hidden: HiddenTool[] = []
  for (const tool of table) {
    if (tool.resource !== resource) continue
    const why = whyUnknown(tool, principal, narrowing) ?? whyUnlisted(tool, principal)
    if (why === undefined) listed.push(tool)
    else hidden.push({ tool: tool.name, why })
    if (whyUnknown(tool, principal, narrowing) === undefined) callable.push(tool)
  }
  return { listed, callable, hidden }
}

function whyUnknown(tool: Tool, { role }: Rights, { readOnly, tools }: Narrowing): string | undefined {
  if (!hasRoleFor(tool, role)) return `needs the role ${tool.minimumRole}`
  if (readOnly && !tool.isReadOnly) return 'left out by ?readonly= in the URL'
  if (tools && !tools.has(tool.name)) return 'left out by ?tools= in the URL'
  return undefined
}

/** By what could be had, not by what the token has: an unlisted tool is never called, so its scope would never be requested. */
function whyUnlisted(tool: Tool, { obtainableScopes }: Rights): string | undefined {
  const missing = missingScopes(tool, obtainableScopes)
  return missing.length === 0 ? undefined : `needs the scope ${missing.join(' ')}`
}

/** What a URL without a query leaves. */
export const EVERYTHING: Narrowing = { readOnly: false, tools: undefined, sources: undefined }

const NAMES_MAX = 100

/**
 * `?readonly=true`, `?tools=a,b` and `?source=db_x,db_y` in the URL of an endpoint. An unknown name matches nothing, so
 * it can only narrow; an invalid value is refused, because ignoring it would allow more than was meant.
 */
export function readNarrowing({ searchParams }: URL): Narrowing {
  const readOnly = singleValue(searchParams, 'readonly') ?? 'false'
  if (readOnly !== 'true' && readOnly !== 'false') throw invalid('readonly', 'must be true or false')
  return {
    readOnly: readOnly === 'true',
    tools: names(searchParams, 'tools'),
    sources: names(searchParams, 'source'),
  }
}

function names(params: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const given = singleValue(params, name)
  if (given === undefined) return undefined
  const all = given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  if (all.length === 0) throw invalid(name, 'must not be empty')
  if (all.length > NAMES_MAX) throw invalid(name, `must have at most ${NAMES_MAX} names`)
  return new Set(all)
}

/** Of two values, one would have to be ignored. */
function singleValue(params: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = params.getAll(name)
  if (more.length > 0) throw invalid(name, 'must occur once')
  return value
}

const invalid = (name: string, problem: string) =>
  new ServiceError('INVALID_REQUEST', `The URL of this endpoint is not valid: ${name} ${problem}`, {
    hint: 'Correct the URL of this connector.',
  })
