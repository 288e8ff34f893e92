/** One failure is often logged more than once: by whoever noticed it, and by whoever gave up because of it. One finding is enough. */
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import { timeOf, type Finding } from './picture.ts'
import type { LogGroup, Reader } from './reader.ts'

/** `isTraced`: a stack trace tells where it happened. */
export type Found = Finding & { readonly group: LogGroup; readonly isTraced: boolean }

/** What follows from an error is logged within so long of it. */
const NEAR_MS = 2_000
/** A few may have another reason, as those may whose cause is older than the lines that are read. */
const SHARE_MIN = 0.9
/** If an error is logged nearly all the time, everything is logged near it. */
const COVERED_MAX = 0.5

/** Without those whose lines come only beside lines of surer findings. */
export async function withoutConsequences(reader: Reader, findings: readonly Found[]): Promise<Found[]> {
  const surestFirst = findings.toSorted(
    (a, b) => Number(b.isTraced) - Number(a.isTraced) || b.weight - a.weight,
  )
  const kept: Found[] = []
  for (const finding of surestFirst) {
    // Anybody can log a line without a level: it explains none that has one.
    const surer = kept.filter((one) => severity(one) >= severity(finding))
    if (surer.length === 0 || !(await isConsequence(reader, finding, surer))) kept.push(finding)
  }
  return kept
}

const severity = ({ group }: Found): number => LOG_LEVELS.indexOf(group.level)

async function isConsequence(reader: Reader, finding: Found, surer: readonly Found[]): Promise<boolean> {
  if (!reader.hasCalls(surer.length + 1)) return false
  const own = await timesOf(reader, finding)
  const others: number[] = []
  for (const other of surer) others.push(...(await timesOf(reader, other)))
  const from = Math.min(...others) - NEAR_MS
  const compared = own.filter((time) => time >= from)
  const span = Math.max(...own, ...others) - from
  if (compared.length === 0 || others.length * 2 * NEAR_MS > COVERED_MAX * span) return false
  const near = compared.filter((time) => others.some((other) => Math.abs(other - time) <= NEAR_MS))
  return near.length >= SHARE_MIN * compared.length
}

const timesOf = async (reader: Reader, { group }: Found): Promise<number[]> =>
  (await reader.newestOf(group)).map(({ at }) => timeOf(at))
