/** The tools as the rules use them: counted, and a refusal is nothing to read. What could not be looked at is remembered. */
import {
  AGENT_LIMITS,
  type AgentToolName,
  type AgentTools,
  type ToolAnswer,
  type ToolArguments,
  type ToolOutput,
} from '../../contracts/agent-tools.ts'

export type Match = ToolOutput<'grep'>['matches'][number]
/** `today`: how many of its lines are of the last day. */
export type LogGroup = ToolOutput<'log_groups'>['groups'][number] & { readonly today: number }
export type LogLine = ToolOutput<'read_logs'>['lines'][number]
export type Check = ToolOutput<'check_history'>['checks'][number]
export type Deployment = ToolOutput<'recent_deployments'>['deployments'][number]

/** Lines of a file; `lines[0]` is line `start`. */
export type Window = {
  readonly path: string
  readonly start: number
  readonly lines: readonly string[]
  readonly totalLines: number
}

export type Reader = ReturnType<typeof createReader>

/** Calls that recording and ending need, and what one step may use beyond its check. */
const RESERVED = 6

/** They wait for the searches of other runs, and may have their turn the next time. */
const REPEATED: ReadonlySet<AgentToolName> = new Set(['log_groups', 'check_history', 'read_logs'])

const isTooSlow = (answer: ToolAnswer): boolean => answer.kind === 'refused' && answer.code === 'TOO_SLOW'

/** Enough to tell how numbers change over time. */
const NEWEST_MAX = 200

export function createReader(tools: AgentTools) {
  let calls = 0
  let isWhole = true
  const readGroups = new Set<string>()
  const windows = new Map<string, Window | null>()
  const newest = new Map<string, readonly LogLine[]>()

  function call<Name extends AgentToolName>(
    name: Name,
    input: ToolArguments<Name>,
  ): Promise<ToolAnswer<Name>> {
    calls += 1
    return tools.call(name, input)
  }

  async function ask<Name extends AgentToolName>(
    name: Name,
    input: ToolArguments<Name>,
  ): Promise<ToolOutput<Name> | null> {
    const first = await call(name, input)
    const isAskedAgain = isTooSlow(first) && REPEATED.has(name) && hasCalls(1)
    const answer = isAskedAgain ? await call(name, input) : first
    if (answer.kind === 'result') {
      if (name === 'read_logs')
        for (const { group } of (answer.result as ToolOutput<'read_logs'>).lines) readGroups.add(group)
      return answer.result
    }
    if (isTooSlow(answer)) miss()
    return null
  }

  function miss(): void {
    isWhole = false
  }

  const hasCalls = (count: number): boolean => AGENT_LIMITS.toolCalls - calls >= RESERVED + count

  return {
    call,
    ask,
    /** Nothing was left out that may be broken. */
    isWhole: (): boolean => isWhole,
    /** A line of it was read. */
    hasRead: ({ id }: LogGroup): boolean => readGroups.has(id),
    /** Something was left out that may be broken. */
    miss,
    /** So many can still be made, beside those that recording and ending need. */
    hasCalls,
    /** The same; what they were for is left out otherwise. */
    mayCall(count: number): boolean {
      const isPossible = hasCalls(count)
      if (!isPossible) miss()
      return isPossible
    },
    /** The lines around one, as far as a file has them; asked once. */
    async around(path: string, line: number): Promise<Window | null> {
      const start = Math.max(1, line - ABOVE)
      const key = `${path} ${start}`
      if (!windows.has(key)) {
        const read = await ask('read_file', { path, start, end: line + BELOW })
        windows.set(
          key,
          read && { path: read.path, start: read.start, lines: read.lines, totalLines: read.total_lines },
        )
      }
      return windows.get(key) ?? null
    },
    /** Of candidates, so many as are looked at; the others are left out. */
    first<Item>(items: readonly Item[], count: number): Item[] {
      if (items.length > count) miss()
      return items.slice(0, count)
    },
    /** The newest lines of a group, newest first; asked once. */
    async newestOf({ id }: LogGroup): Promise<readonly LogLine[]> {
      const known = newest.get(id)
      if (known) return known
      const read = await ask('read_logs', { group: id, limit: NEWEST_MAX })
      newest.set(id, read?.lines ?? [])
      return read?.lines ?? []
    },
    /** None when the search is refused. */
    grep: async (input: ToolArguments<'grep'>): Promise<Match[]> => (await ask('grep', input))?.matches ?? [],
  }
}

/** Most functions begin within so many lines above, and end within so many below. */
const ABOVE = 40
const BELOW = 20

export const lineOf = ({ start, lines }: Window, line: number): string | undefined => lines[line - start]

/** A text as a part of a regular expression (RE2). */
export const escapePattern = (text: string): string =>
  text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
