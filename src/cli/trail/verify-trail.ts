/**
 * Verifies an export of the trail, line by line and offline: the signature of every seal, that each follows the one before it, and
 * that its rows are those that were sealed. Names the first row that is not.
 */
import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import {
  endorsedText,
  HASH_BYTES,
  KEY_ID_LENGTH,
  leafOf,
  rootOf,
  sealedText,
  type ExportEnd,
  type ExportHeader,
  type ExportSeal,
  type SignedSeal,
  type TrailKey,
  type TrailRow,
} from '../../contracts/trail-format.ts'

export type TrailProblem = {
  /** `cut`: the file ends before the export did. `unreadable`: a line that is none of an export. */
  readonly what: 'changed' | 'dropped' | 'moved' | 'added' | 'cut' | 'unreadable'
  /** The sequence number of the first row concerned. */
  readonly row: number
  /** Of the file, from 1. */
  readonly line: number
  readonly says: string
}

export type TrailReport = {
  readonly problem: TrailProblem | null
  readonly org: string | null
  readonly exported_at: string | null
  /** The last seal whose signature holds. */
  readonly head: {
    readonly seal: number
    readonly epoch: string
    readonly row: number
    readonly sealed_at: string
    readonly key: string
  } | null
  readonly seals: number
  readonly rows: number
  /** Rows that retention has deleted, as signed. */
  readonly deleted: number
  /** Sealed more than a day after their own time: a worker was away, or somebody had them sealed anew. */
  readonly late: { readonly rows: number; readonly first: number } | null
  /** Younger than the last seal: nothing proves them yet. */
  readonly unsealed: number
  /** There are more of these than the export has. */
  readonly more: boolean
  readonly breaks: readonly { readonly row: number; readonly after: string; readonly epoch: string }[]
  /** In the order in which they signed. `vouched`: signed by the one before it. */
  readonly keys: readonly { readonly id: string; readonly vouched: boolean }[]
}

const sha256 = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer')

type Line = {
  readonly row: number
  readonly is: Pick<TrailRow, 'kind' | 'at'>
  /** Of `is`, as it stands in the file: what another program reads there is what was sealed. */
  readonly text: string
  readonly line: number
}
type OpenSeal = {
  readonly signed: SignedSeal
  readonly leaves: Buffer
  readonly line: number
  readonly rows: Line[]
}
/** Rows that are missing: whether retention deleted them is known at the end. */
type Gap = {
  readonly signed: SignedSeal
  readonly problem: TrailProblem
  readonly missing: number
  readonly present: readonly string[]
}

const LATE_MS = 24 * 60 * 60 * 1000

/** `onSeal`: is told of each whose signature holds. */
export function trailVerifier(onSeal?: (signed: SignedSeal, text: string) => void) {
  let header: ExportHeader | undefined
  let keys = new Map<string, { readonly key: KeyObject; readonly place: number }>()
  let open: OpenSeal | undefined
  let before: { readonly signed: SignedSeal; readonly digest: string } | undefined
  let head: TrailReport['head'] = null
  let late: TrailReport['late'] = null
  let isEnded = false
  let more = false
  let [line, seals, rows, unsealed, lastKey] = [0, 0, 0, 0, 0]
  const problems: TrailProblem[] = []
  const gaps: Gap[] = []
  const breaks: TrailReport['breaks'][number][] = []
  const removals: NonNullable<SignedSeal['removed']>[] = []

  const lastRow = () => (before ? before.signed.first + before.signed.rows - 1 : 0)
  const found = (problem: Omit<TrailProblem, 'line'>, at = line) => problems.push({ line: at, ...problem })

  function take(ended: string): void {
    line++
    const text = ended.endsWith('\r') ? ended.slice(0, -1) : ended
    if (isEnded)
      return void found({ what: 'added', row: lastRow() + 1, says: 'there are lines behind the end' })
    let read: Record<string, unknown>
    try {
      read = JSON.parse(text) as Record<string, unknown>
      if (typeof read !== 'object' || read === null) throw new Error('no object')
      takeLine(read, text)
    } catch {
      const row = nextRow()
      found({ what: 'unreadable', row, says: `line ${line} cannot be read; row ${row} was to come` })
    }
  }

  const nextRow = () => (open ? (open.rows.at(-1)?.row ?? open.signed.first - 1) + 1 : lastRow() + 1)

  function takeLine(read: Record<string, unknown>, text: string): void {
    if ('row' in read) return takeRow(read, text)
    // A name that is there twice, for one, is read differently by others.
    if (JSON.stringify(read) !== text) throw new Error('written differently')
    if ('header' in read) {
      if (header) throw new Error('twice')
      header = read['header'] as ExportHeader
      keys = readKeys(header.keys)
      const forged = header.keys.find((key) => !isOwnId(key))
      if (forged)
        found({ what: 'changed', row: 1, says: `key ${forged.id} is not the key that its id stands for` })
    } else if ('seal' in read) takeSeal(read['seal'] as ExportSeal)
    else if ('unsealed' in read) unsealed++
    else if ('end' in read) {
      closeSeal()
      isEnded = true
      const end = read['end'] as ExportEnd
      more = end.more === true
      const last = before?.signed.number ?? 0
      const promised = Math.max(end.seals, header?.head?.number ?? 0)
      if (end.seals !== last || promised > last)
        found({
          what: 'dropped',
          row: lastRow() + 1,
          says: `the export ends with seal ${promised}, which is not here`,
        })
      else if (end.unsealed !== unsealed)
        found({
          what: unsealed < end.unsealed ? 'dropped' : 'added',
          row: lastRow() + 1,
          says: `the export ends with ${end.unsealed} rows that are not sealed, and ${unsealed} are here`,
        })
    } else throw new Error('unknown')
  }

  function takeRow(read: Record<string, unknown>, text: string): void {
    const [row, is] = [Number(read['row']), read['is'] as TrailRow]
    if (typeof is !== 'object' || is === null) throw new Error('no row')
    if (!open)
      return void found({ what: 'added', row: lastRow() + 1, says: 'a row stands before the first seal' })
    const begin = `{"row":${row},"is":`
    const { kind, at } = is
    open.rows.push({
      row,
      is: { kind, at },
      text: text.startsWith(begin) ? text.slice(begin.length, -1) : text,
      line,
    })
    rows++
  }

  function takeSeal({ signed: text, signature, leaves }: ExportSeal): void {
    closeSeal()
    const signed = JSON.parse(text) as SignedSeal
    seals++
    const expected = (before?.signed.number ?? 0) + 1
    const row = lastRow() + 1
    const key = keys.get(signed.key)
    const isSigned =
      key !== undefined &&
      verify(null, Buffer.from(sealedText(text)), key.key, Buffer.from(signature, 'base64url'))
    if (!isSigned)
      found({ what: 'changed', row, says: `the signature of seal ${signed.number} does not hold` })
    else if (signed.org !== header?.org)
      found({ what: 'added', row, says: `seal ${signed.number} belongs to another organization` })
    else if (signed.number > expected)
      found({
        what: 'dropped',
        row,
        says: `seals ${expected} to ${signed.number - 1} are missing, with rows ${row} to ${signed.first - 1}`,
      })
    else if (signed.number < expected)
      found({
        what: 'moved',
        row: signed.first,
        says: `seal ${signed.number} stands behind seal ${expected - 1}`,
      })
    else if (signed.previous !== (before?.digest ?? null) || signed.first !== row)
      found({ what: 'changed', row, says: `seal ${signed.number} does not follow the seal before it` })
    else if (before && signed.epoch !== before.signed.epoch && signed.break?.after !== before.signed.epoch)
      found({ what: 'changed', row, says: `seal ${signed.number} is of another epoch, and says of no break` })
    else if (key.place < lastKey)
      found({
        what: 'changed',
        row,
        says: `seal ${signed.number} is signed with a key that was replaced before`,
      })
    if (isSigned) {
      onSeal?.(signed, text)
      lastKey = Math.max(lastKey, key.place)
      if (signed.break) breaks.push({ row: signed.first, after: signed.break.after, epoch: signed.epoch })
      if (signed.removed) removals.push(signed.removed)
      head = {
        seal: signed.number,
        epoch: signed.epoch,
        row: signed.first + signed.rows - 1,
        sealed_at: signed.sealed_at,
        key: signed.key,
      }
    }
    before = { signed, digest: Buffer.from(sha256(Buffer.from(text))).toString('hex') }
    open = { signed, leaves: Buffer.from(leaves, 'base64'), line, rows: [] }
  }

  function closeSeal(): void {
    if (open) checkRows(open)
    open = undefined
  }

  function checkRows(seal: OpenSeal): void {
    const { signed, rows: lines } = seal
    noteLate(seal)
    const hashes = lines.map(({ text }) => hex(leafOf(sha256, text)))
    const isRoot = (leaves: Uint8Array) => hex(rootOf(sha256, leaves)) === signed.root
    const areRows = hashes.length === signed.rows && isRoot(Buffer.from(hashes.join(''), 'hex'))
    if (areRows) {
      const wrong = lines.findIndex(({ row }, at) => row !== signed.first + at)
      if (wrong >= 0)
        found(
          {
            what: 'moved',
            row: signed.first + wrong,
            says: `row ${signed.first + wrong} has another number`,
          },
          lines[wrong]!.line,
        )
      return
    }
    const isKnown = seal.leaves.length === signed.rows * HASH_BYTES && isRoot(seal.leaves)
    // Of a seal whose rows are all deleted the hashes are deleted, too.
    if (!isKnown && seal.leaves.length === 0 && lines.length === 0)
      return void gaps.push({
        signed,
        missing: signed.rows,
        present: [],
        problem: droppedRow(signed, 0, seal.line),
      })
    if (!isKnown)
      return void found(
        {
          what: 'changed',
          row: signed.first,
          says: `the hashes of seal ${signed.number} were changed with its rows: one of rows ${signed.first} to ${signed.first + signed.rows - 1} is not as it was sealed`,
        },
        seal.line,
      )
    compareRows(seal, hashes)
  }

  function noteLate({ signed, rows: lines }: OpenSeal): void {
    const sealedAt = Date.parse(signed.sealed_at)
    if (Number.isNaN(sealedAt)) return
    const bound = new Date(sealedAt - LATE_MS).toISOString()
    const own = lines.filter(({ is }) => is.at < bound)
    if (own[0]) late = { rows: (late?.rows ?? 0) + own.length, first: late?.first ?? own[0].row }
  }

  /** Goes along both: what was sealed, and what is here. */
  function compareRows(
    { signed, leaves, line: sealLine, rows: lines }: OpenSeal,
    hashes: readonly string[],
  ): void {
    const sealed = Array.from({ length: signed.rows }, (_, at) =>
      hex(leaves.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
    )
    const placeOf = new Map(sealed.map((leaf, at) => [leaf, at]))
    const here = new Set(hashes)
    const at = (place: number) => signed.first + place
    let [next, missing, firstMissing, missingLine] = [0, 0, -1, sealLine]
    const skip = (to: number, lineAt: number) => {
      for (; next < to; next++) {
        if (firstMissing < 0) [firstMissing, missingLine] = [next, lineAt]
        missing++
      }
    }
    for (const [n, leaf] of hashes.entries()) {
      const { row, line: lineAt } = lines[n]!
      const place = placeOf.get(leaf)
      if (place === undefined) {
        const isAdded = next >= sealed.length || here.has(sealed[next]!)
        if (isAdded)
          return settle(
            { what: 'added', row: at(next), says: `a row was added before row ${at(next)}` },
            lineAt,
          )
        return settle({ what: 'changed', row: at(next), says: `row ${at(next)} was changed` }, lineAt)
      }
      if (place < next)
        return settle(
          { what: 'added', row: at(next), says: `row ${at(place)} is here twice, or out of its place` },
          lineAt,
        )
      const moved = sealed.slice(next, place).findIndex((one) => here.has(one))
      if (moved >= 0) {
        skip(next + moved, lineAt)
        return settle(
          { what: 'moved', row: at(next), says: `row ${at(next)} is not where it was sealed` },
          lineAt,
        )
      }
      skip(place, lineAt)
      if (row !== at(place))
        return settle({ what: 'moved', row: at(place), says: `row ${at(place)} has another number` }, lineAt)
      next = place + 1
    }
    skip(sealed.length, lines.at(-1)?.line ?? sealLine)
    settle()

    function settle(problem?: Omit<TrailProblem, 'line'>, lineAt?: number): void {
      if (problem) found(problem, lineAt)
      if (firstMissing < 0) return
      const present = lines.flatMap(({ is }) => (is.kind === 'activity' ? [is.at] : []))
      const dropped = droppedRow(signed, firstMissing, missingLine)
      // With something else wrong nobody can tell how many are missing: those before it count as dropped.
      if (problem) problems.push(dropped)
      else gaps.push({ signed, missing, present, problem: dropped })
    }
  }

  return {
    take,
    /** `isWhole`: the last line ended with a line break. */
    end(isWhole: boolean): TrailReport {
      const wasOpen = nextRow()
      closeSeal()
      let deleted = 0
      for (const gap of gaps) {
        if (isDeleted(gap, removals)) deleted += gap.missing
        // Of the last seal of a file that is cut nobody has dropped them.
        else if (isEnded || gap.signed !== before?.signed) problems.push(gap.problem)
      }
      if (!isEnded || !isWhole) {
        const to = header?.head ? `; its signed head was row ${header.head.row} at least` : ''
        problems.push({
          what: 'cut',
          row: wasOpen,
          line: line + 1,
          says: `the file is cut after line ${line}, before row ${wasOpen}${to}`,
        })
      }
      return {
        problem: problems.toSorted((a, b) => a.row - b.row || a.line - b.line)[0] ?? null,
        org: header?.org ?? null,
        exported_at: header?.exported_at ?? null,
        head,
        seals,
        rows,
        deleted,
        late,
        unsealed,
        more,
        breaks,
        keys: (header?.keys ?? []).map((key, at, all) => ({
          id: key.id,
          vouched: at === 0 || isVouched(key, all[at - 1]!),
        })),
      }
    },
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const droppedRow = ({ first }: SignedSeal, at: number, line: number): TrailProblem => ({
  what: 'dropped',
  row: first + at,
  line,
  says: `row ${first + at} is missing`,
})

/** Rows of activity from before a signed moment: as many as were signed, those that are still here included. */
function isDeleted(
  { signed, missing, present }: Gap,
  removals: readonly NonNullable<SignedSeal['removed']>[],
): boolean {
  return removals.some(({ activity_before: end, partly }) => {
    const isAll = signed.activity_to !== undefined && signed.activity_to < end
    const count = isAll ? signed.activity : (partly.find(([number]) => number === signed.number)?.[1] ?? 0)
    return missing > 0 && missing + present.filter((at) => at < end).length === count
  })
}

const publicKey = ({ public_key: x }: TrailKey): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })

/** A key is known by the digest of its public half: whoever trusts an id trusts that key and no other. */
const isOwnId = ({ id, public_key }: TrailKey): boolean =>
  id === hash('sha256', public_key, 'hex').slice(0, KEY_ID_LENGTH)

/** Those that are what their id says. */
export const readKeys = (all: readonly TrailKey[]) =>
  new Map(
    all.flatMap((key, place) => (isOwnId(key) ? [[key.id, { key: publicKey(key), place }] as const] : [])),
  )

/** By the key before it, and by no other. */
export const isVouched = (key: TrailKey, before: TrailKey): boolean =>
  isOwnId(key) &&
  isOwnId(before) &&
  key.endorsed_by === before.id &&
  key.endorsement !== null &&
  verify(null, Buffer.from(endorsedText(key)), publicKey(before), Buffer.from(key.endorsement, 'base64url'))
