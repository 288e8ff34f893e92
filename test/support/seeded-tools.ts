/** The eleven tools over one seeded app, in memory: for tests of analysts that need no database. What is not read cannot be cited. */
import {
  AGENT_LIMITS,
  fileRef,
  ToolRefused,
  type AgentToolName,
  type AgentTools,
  type ToolArguments,
  type ToolOutput,
} from '../../src/contracts/agent-tools.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { LOG_LEVELS } from '../../src/contracts/log-levels.ts'
import { cutText, fitRows } from '../../src/cores/agent-tools/fit-rows.ts'
import { groupId, lineId } from '../../src/cores/logs/line-ids.ts'
import { prepareLines, type PreparedLine } from '../../src/cores/logs/prepare-lines.ts'
import { recordsOf, type Location, type SeededApp } from './seeded-apps.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** As the tool host. */
const GROUPS_MAX = 100
const TEMPLATE_MAX = 400
/** All that was deployed. */
const REVISION = makeId('rev', 0)
const RESULTS = { p: 'pass', f: 'fail', e: 'error' } as const

type Tools = { [Name in AgentToolName]: (input: ToolArguments<Name>) => ToolOutput<Name> }

type SeededRun = {
  readonly tools: AgentTools
  readonly recorded: ToolArguments<'record_finding'>[]
  readonly locations: () => Location[]
  readonly calls: () => number
  readonly conclusion: () => string | null
}

export async function seededTools(app: SeededApp, now: Date): Promise<SeededRun> {
  const { lines } = await prepareLines(await recordsOf(app, now), now.getTime())
  const stored = lines
    .map((line, index) => ({ ...line, id: lineId(index + 1) }))
    .toSorted((a, b) => a.atMs - b.atMs)
  const files = new Map(app.files.map(({ path, content }) => [path, content.toString().split('\n')]))
  const read = new Set<string>()
  const recorded: ToolArguments<'record_finding'>[] = []
  let calls = 0
  let conclusion: string | null = null

  const showLines = (path: string, start: number, end: number): string => {
    for (let line = start; line <= end; line += 1) read.add(`${path}:${line}`)
    return fileRef(path, start, end)
  }
  const show = (ref: string): string => {
    read.add(ref)
    return ref
  }

  const tools: Tools = {
    list_files: () => ({
      files: app.files.map(({ path, content }) => ({ path, bytes: content.length })),
      truncated: false,
    }),
    read_file({ path, start = 1, end }) {
      const all = files.get(path)
      if (!all) throw new ToolRefused('NOT_FOUND')
      const last = Math.min(all.length, end ?? all.length)
      if (start > last) throw new ToolRefused('NOT_FOUND')
      const shown = all.slice(start - 1, last)
      const ref = showLines(path, start, last)
      return { ref, path, start, end: last, total_lines: all.length, lines: shown, truncated: false }
    },
    grep({ pattern, path_glob, literal = false }) {
      const isMatch = literal
        ? (text: string) => text.includes(pattern)
        : (text: string) => new RegExp(pattern).test(text)
      const matches = [...files].flatMap(([path, all]) =>
        path_glob !== undefined && path !== path_glob
          ? []
          : all.flatMap((text, index) =>
              isMatch(text)
                ? [{ ref: showLines(path, index + 1, index + 1), path, line: index + 1, text }]
                : [],
            ),
      )
      return { matches, truncated: false }
    },
    log_groups({ since, level, offset = 0 }) {
      const from = since === undefined ? now.getTime() - DAY_MS : Date.parse(since)
      const groups = Map.groupBy(
        stored.filter((line) => line.atMs >= from && isAtLeast(line, level)),
        ({ group }) => group.key,
      )
      const shown = [...groups.values()].map((own) => ({
        id: groupId(own[0]!.group.key),
        template: cutText(own[0]!.group.template, TEMPLATE_MAX),
        level: LOG_LEVELS[own[0]!.level]!,
        count: own.length,
        first_at: new Date(own[0]!.atMs).toISOString(),
        last_at: new Date(own.at(-1)!.atMs).toISOString(),
      }))
      const bySeverity = shown.toSorted(
        (a, b) => LOG_LEVELS.indexOf(b.level) - LOG_LEVELS.indexOf(a.level) || b.count - a.count,
      )
      const { rows, truncated } = fitRows(bySeverity.slice(offset, offset + GROUPS_MAX))
      return {
        since: new Date(from).toISOString(),
        groups: rows,
        truncated: truncated || bySeverity.length > offset + GROUPS_MAX,
      }
    },
    read_logs({ group, from, to, level, limit = 50 }) {
      const fitting = stored.filter(
        (line) =>
          (group === undefined || groupId(line.group.key) === group) &&
          (from === undefined || line.atMs >= Date.parse(from)) &&
          (to === undefined || line.atMs <= Date.parse(to)) &&
          isAtLeast(line, level),
      )
      const shown = fitting.toReversed().slice(0, limit)
      return {
        lines: shown.map(({ id, atMs, level: severity, text, group: own }) => ({
          ref: show(`log:${id}`),
          group: groupId(own.key),
          at: new Date(atMs).toISOString(),
          level: LOG_LEVELS[severity]!,
          text,
        })),
        truncated: fitting.length > limit,
      }
    },
    check_history: () => ({
      checks: app.checks.map(({ name, kind, results, every_minutes }) => {
        const newestFirst = [...results].toReversed().map((mark) => RESULTS[mark as keyof typeof RESULTS])
        const at = (index: number) => new Date(now.getTime() - index * every_minutes * MINUTE_MS)
        const since = newestFirst.findIndex((result) => result !== newestFirst[0])
        return {
          id: makeId('chk', now.getTime()),
          name,
          kind,
          state: newestFirst[0]!,
          state_since: at((since === -1 ? newestFirst.length : since) - 1).toISOString(),
          runs: newestFirst.map((result, index) => ({
            ref: show(`check:${makeId('chr', at(index).getTime())}`),
            at: at(index).toISOString(),
            result,
            reason: null,
            status: null,
            ms: 1,
            detail: null,
          })),
        }
      }),
      truncated: false,
    }),
    recent_deployments: () => ({
      base_revision: REVISION,
      deployments: app.deployments
        .toSorted((a, b) => a.minutes_ago - b.minutes_ago)
        .map(({ minutes_ago, state }) => {
          const at = new Date(now.getTime() - minutes_ago * MINUTE_MS)
          const id = makeId('dep', at.getTime())
          return {
            ref: show(`deployment:${id}`),
            id,
            revision_id: REVISION,
            state,
            code: state === 'failed' ? 'BUILD_FAILED' : null,
            requested_at: at.toISOString(),
            ended_at: at.toISOString(),
          }
        }),
      truncated: false,
    }),
    prior_findings: () => ({ findings: [], truncated: false }),
    record_finding(input) {
      if (recorded.length === AGENT_LIMITS.findings) throw new ToolRefused('TOO_MANY_FINDINGS')
      const { evidence, location } = input
      const isRead = (ref: string): boolean => {
        const [, path, first, last] = /^file:(.+)#L(\d+)-L(\d+)$/s.exec(ref) ?? []
        if (path === undefined) return read.has(ref)
        return range(Number(first), Number(last)).every((line) => read.has(`${path}:${line}`))
      }
      if (!evidence.every(isRead) || (location && !read.has(`${location.path}:${location.line}`)))
        throw new ToolRefused('EVIDENCE_NOT_READ')
      recorded.push(input)
      return { finding_id: makeId('fnd', now.getTime()), fingerprint: 'fp_0000000000000000', is_known: false }
    },
    propose_change() {
      throw new ToolRefused('PROPOSALS_NOT_ALLOWED')
    },
    finish({ conclusion: said }) {
      conclusion = said
      return {}
    },
  }

  return {
    recorded,
    calls: () => calls,
    conclusion: () => conclusion,
    locations: () => recorded.map(({ location }) => location ?? null),
    tools: {
      async call(name, input) {
        calls += 1
        if (calls > AGENT_LIMITS.toolCalls) throw new Error('too many calls')
        try {
          return { kind: 'result', result: tools[name](input) }
        } catch (error) {
          if (!(error instanceof ToolRefused)) throw error
          return { kind: 'refused', code: error.code, message: error.message, problems: error.problems }
        }
      },
    },
  }
}

const isAtLeast = ({ level }: PreparedLine, least: (typeof LOG_LEVELS)[number] | undefined): boolean =>
  least === undefined || level >= LOG_LEVELS.indexOf(least)

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)
