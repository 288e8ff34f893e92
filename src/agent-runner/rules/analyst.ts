/**
 * The analyst without a language model. It reads groups of log lines, stack traces and the history of checks, looks for what
 * they name in the source, and records findings. It never proposes a change, and says nothing that a log line told it to say.
 */
import { AGENT_LIMITS, type Analyst } from '../../contracts/agent-tools.ts'
import { OTHER_LINES } from '../../contracts/limits.ts'
import { findErrors } from './errors.ts'
import { withFailingChecks } from './failing-checks.ts'
import { foldGroups } from './fold-groups.ts'
import { DAY_MS, HOUR_MS, isHeardFrom, RECENT_MS, timeOf, type Finding, type Picture } from './picture.ts'
import { createReader, type LogGroup, type Reader } from './reader.ts'
import { findSymptom, ODD_VALUES, STOPPED_LOG, SYMPTOMS } from './symptoms.ts'
import { isSevere } from './what-counts.ts'

/** As long as lines are kept. */
const WINDOW_MS = 7 * DAY_MS

export const rulesAnalyst: Analyst = async (run, tools, signal) => {
  const reader = createReader(tools)
  const picture = await look(reader, run.startedAt)
  if (picture === null) return { kind: 'failed', reason: 'UNSURE' }
  const findings = await findAll(picture, signal)
  const { isNew, isKnown, isRefused } = await record(reader, await newFirst(reader, findings))
  if (!isNew) await readTheRest(picture)
  // What was not looked at may be broken, and so may be what could not be recorded.
  const isSure = reader.isWhole() && isHeardFrom(picture) && !isRefused
  if (!isNew && !isSure) await reader.ask('finish', { conclusion: 'unsure' })
  else if (!isNew && !isKnown) await reader.ask('finish', { conclusion: 'nothing_found' })
  return { kind: 'finished' }
}

/** Of the calls that recording and ending need, those that are free once all is recorded. */
const RECORDED = -4

/** What is severe and led to nothing is read all the same: what nobody read is not nothing. */
async function readTheRest({ reader, severe, now }: Picture): Promise<void> {
  const unread = (): LogGroup[] =>
    severe.filter((group) => now - timeOf(group.last_at) <= RECENT_MS && !reader.hasRead(group))
  if (unread().length > 1) await reader.ask('read_logs', { level: 'error', limit: 200 })
  for (const group of unread()) {
    if (!reader.mayCall(RECORDED)) return
    if (!reader.hasRead(group)) await reader.ask('read_logs', { group: group.id, limit: 1 })
  }
}

/** Null: without logs and checks nothing can be said. An app without source has findings without a place. */
async function look(reader: Reader, startedAt: Date): Promise<Picture | null> {
  const since = new Date(startedAt.getTime() - WINDOW_MS).toISOString()
  const ever = await readGroups(reader, since)
  const today = await readGroups(reader, new Date(startedAt.getTime() - DAY_MS).toISOString())
  const history = await reader.ask('check_history', {})
  if (!ever || !today || !history) return null
  const lately = new Map(today.map(({ id, count }) => [id, count]))
  const groups = ever.map((group) => ({ ...group, today: lately.get(group.id) ?? 0 }))
  const deployments = await reader.ask('recent_deployments', {})
  const source = await reader.ask('list_files', {})
  const running = deployments?.deployments.find(({ state }) => state === 'succeeded')?.revision_id
  return {
    reader,
    now: startedAt.getTime(),
    isRunning: running !== undefined && running === deployments?.base_revision,
    groups: foldGroups(groups),
    severe: groups.filter(({ level }) => isSevere(level)),
    oldest: Math.min(...groups.map(({ first_at }) => timeOf(first_at))),
    checks: history.checks,
    deployments: deployments?.deployments ?? [],
    files: source?.files.map(({ path }) => path) ?? [],
    hasMoreFiles: source?.truncated ?? false,
  }
}

/** Answers that are read: an app, or somebody who writes into its log, may have more groups than a run can look at. */
const PAGES_MAX = 5

type Counted = Omit<LogGroup, 'today'>

async function readGroups(reader: Reader, since: string): Promise<Counted[] | null> {
  const groups = new Map<string, Counted>()
  for (let page = 0, offset = 0; page < PAGES_MAX; page += 1) {
    const read = await reader.ask('log_groups', { since, offset })
    if (!read && page === 0) return null
    for (const group of read?.groups ?? []) groups.set(group.id, group)
    // Anything may be among them.
    if (read?.groups.some(({ template }) => template === OTHER_LINES)) reader.miss()
    if (!read?.truncated) return [...groups.values()]
    offset += read.groups.length
  }
  reader.miss()
  return [...groups.values()]
}

async function findAll(picture: Picture, signal: AbortSignal): Promise<Finding[]> {
  return withFailingChecks(picture, picture.groups.length === 0 ? [] : await findInLog(picture, signal))
}

async function findInLog(picture: Picture, signal: AbortSignal): Promise<Finding[]> {
  const stopped = await findSymptom(picture, STOPPED_LOG)
  const findings = [...stopped.slice(0, 1), ...(await findErrors(picture))]
  signal.throwIfAborted()
  findings.push(...onePerPlace(await findSymptom(picture, ODD_VALUES)))
  for (const symptom of SYMPTOMS) {
    signal.throwIfAborted()
    // They would mostly be consequences of what was found.
    if (findings.length > 0) break
    findings.push(...onePerBeginning(await findSymptom(picture, symptom)))
  }
  return findings
}

/** Several lines may write what one line computes. */
const onePerPlace = (findings: readonly Finding[]): Finding[] => [
  ...new Map(
    findings.toReversed().map((finding) => [`${finding.place?.path}:${finding.place?.line}`, finding]),
  ).values(),
]

/** What began together mostly has one cause. */
function onePerBeginning(findings: readonly Finding[]): Finding[] {
  const kept: Finding[] = []
  for (const finding of findings.toSorted((a, b) => b.weight - a.weight)) {
    if (!kept.some(({ since }) => Math.abs(since - finding.since) <= HOUR_MS)) kept.push(finding)
  }
  return kept
}

/** A run may record few: what is known from earlier runs comes last. */
async function newFirst(reader: Reader, findings: readonly Finding[]): Promise<Finding[]> {
  const byWeight = findings.toSorted((a, b) => b.weight - a.weight)
  if (findings.length <= AGENT_LIMITS.findings) return byWeight
  const prior = (await reader.ask('prior_findings', {}))?.findings ?? []
  const isKnown = ({ place }: Finding): boolean =>
    place !== null && prior.some(({ location }) => location?.startsWith(`${place.path}:`))
  return [...byWeight.filter((one) => !isKnown(one)), ...byWeight.filter(isKnown)]
}

/** What a person denied stays quiet: that is neither recorded nor a failure. */
async function record(
  reader: Reader,
  findings: readonly Finding[],
): Promise<{ isNew: boolean; isKnown: boolean; isRefused: boolean }> {
  const result = { isNew: false, isKnown: false, isRefused: false }
  for (const { kind, summary, evidence, place } of findings.slice(0, AGENT_LIMITS.findings)) {
    const answer = await reader.call('record_finding', {
      kind,
      summary,
      evidence: [...new Set(evidence)],
      ...(place ? { location: { path: place.path, line: place.line } } : {}),
    })
    if (answer.kind === 'result') result[answer.result.is_known ? 'isKnown' : 'isNew'] = true
    else if (answer.code !== 'DUPLICATE') result.isRefused = true
  }
  return result
}
