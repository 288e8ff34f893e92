/**
 * What a finding or a proposal is about: known by the evidence that it cites, never by words of the model, so that the same
 * thing has the same fingerprint every night. Pure.
 */
import { createHash } from 'node:crypto'
import type { Matter } from '../../../db/schema.ts'
import type { EvidenceRead } from '../../contracts/agent-tools.ts'
import { foldBlanks } from '../../contracts/plain-text.ts'
import { readJsonObject } from '../../contracts/read-json.ts'
import { templateOf } from '../logs/index.ts'

/** The files and the first log line that it cites; without either, the check or the deployed revision. */
export function matterOf(cited: readonly EvidenceRead[]): Matter {
  const files = cited.filter(({ kind }) => kind === 'file').toSorted(byPlace)
  const logs = cited.filter(({ kind }) => kind === 'log')
  const [log] = logs
  const error = logs.map(({ text }) => errorIn(text)).find((name) => name !== null)
  return {
    files: files.map(({ location, text }) => ({ path: location, lines: firstOf(text) })),
    logTemplate: log === undefined ? null : templateOf(tellingText(log.text)).toWellFormed(),
    ...(error != null && { error }),
    subject: files.length > 0 || log !== undefined ? null : subjectOf(cited),
  }
}

/** The first line of a traceback of Python is the same for all of them: the exception stands at its end. */
const tellingText = (text: string): string =>
  /^\s*Traceback \(most recent call last\)/.test(text)
    ? (text.split('\n').findLast((line) => /^[A-Za-z_][\w.]{2,150}(?::|$)/.test(line)) ?? text)
    : text

const ERROR = /(?:^|[^\w$])((?:[A-Z][\w$]{0,80})?(?:Error|Exception)|panic(?=ked at|:| serving))(?![\w$])/

/** By its short name, as a trace names it. Of several, the one that a trace of Python ends with. */
const errorIn = (text: string): string | null => ERROR.exec(tellingText(text).slice(0, 4_000))?.[1] ?? null

function byPlace(a: EvidenceRead, b: EvidenceRead): number {
  if (a.location !== b.location) return a.location < b.location ? -1 : 1
  return (a.fromLine ?? 0) - (b.fromLine ?? 0)
}

/** Not the run of the check, nor the deployment: each night has others, of the same thing. */
function subjectOf(cited: readonly EvidenceRead[]): string | null {
  const one = cited.find(({ kind }) => kind === 'check') ?? cited[0]
  if (one === undefined) return null
  const { kind, location, text } = one
  const named = idIn(text, kind === 'check' ? 'check_id' : 'revision_id')
  return `${kind} ${named ?? location}`
}

/** Of what our own tools wrote. */
function idIn(text: string, name: string): string | undefined {
  const value = readJsonObject(text)?.[name]
  return typeof value === 'string' ? value : undefined
}

/** Not ending in half a character, which the database would refuse. */
export const firstOf = (text: string): string => text.slice(0, LINES_MAX).replace(/[\ud800-\udbff]$/, '')

/** Enough to find them again. */
const LINES_MAX = 4_000

/** Of place and error, where both are known: whoever found it, and whatever else they cite. */
export function fingerprintOf(appId: string, { files, logTemplate, subject, place, error }: Matter): string {
  const sha256 = createHash('sha256')
  if (place && error !== undefined) {
    sha256.update(JSON.stringify([appId, place.path, foldBlanks(place.line), error]))
    return `fp_${sha256.digest('hex').slice(0, 16)}`
  }
  // As JSON, so that no part runs into the next.
  sha256.update(
    JSON.stringify([
      appId,
      files.map(({ path, lines }) => [path, foldBlanks(lines)]),
      logTemplate,
      subject,
      ...(place ? [place.path, foldBlanks(place.line)] : []),
    ]),
  )
  return `fp_${sha256.digest('hex').slice(0, 16)}`
}

/**
 * Also where the lines were not cut alike: a model does not cite the same range every night, nor in the same order. One place
 * and one error are one matter, whatever lines carry it. Else with logs it is their template. Without them it is a line that both cite, where one cites no other files than the other does,
 * and neither names another place: what two problems have in common does not make them one.
 */
export function isSameMatter(a: Matter, b: Matter): boolean {
  if (a.subject !== null || b.subject !== null) return a.subject === b.subject
  if (a.place && b.place && a.error !== undefined && a.error === b.error && isSamePlace(a.place, b.place))
    return true
  const shared = a.files.flatMap((file) =>
    b.files.filter(({ path }) => path === file.path).map((other) => [file, other] as const),
  )
  if (a.logTemplate !== null && b.logTemplate !== null) {
    const isElsewhere = a.files.length > 0 && b.files.length > 0 && shared.length === 0
    return a.logTemplate === b.logTemplate && !isElsewhere
  }
  if (a.place && b.place && !isSamePlace(a.place, b.place)) return false
  const [few, many] = [pathsOf(a), pathsOf(b)].toSorted((one, other) => one.size - other.size)
  if ([...few!].some((path) => !many!.has(path))) return false
  return shared.some(([one, other]) => {
    const lines = new Set(tellingLines(one.lines))
    return tellingLines(other.lines).some((line) => lines.has(line))
  })
}

type Place = NonNullable<Matter['place']>

export const isSamePlace = (a: Place, b: Place): boolean =>
  a.path === b.path && foldBlanks(a.line) === foldBlanks(b.line)

const pathsOf = ({ files }: Matter): Set<string> => new Set(files.map(({ path }) => path))

/** Brackets and `else` are in every file. */
const TELLING_MIN = 8

export const tellingLines = (text: string): string[] =>
  text
    .split('\n')
    .map(foldBlanks)
    .filter((line) => line.length >= TELLING_MIN)

/** Whether the lines are in the file as they were, wherever. */
export const isStillIn = (file: string, lines: string): boolean =>
  foldBlanks(file).includes(foldBlanks(lines))
